"""The command ``valvey``: its commands, by name."""

from fieldkit.cli_app import Command

TEXT = "Guards the coolant and the power permit of one rack."
# fmt: off
COMMANDS: dict[str, tuple[str, str]] = {
    "run":               ("valvey.cli_local",  "run"),
    "check-config":      ("valvey.cli_config", "check_config"),
    "field":             ("valvey.cli_local",  "field"),
    "status":            ("valvey.cli_mqtt",   "status"),
    "request":           ("valvey.cli_mqtt",   "request"),
    "arm":               ("valvey.cli_mqtt",   "arm"),
    "shutdown":          ("valvey.cli_local",  "shutdown"),
    "replay":            ("valvey.cli_local",  "replay"),
    "probe":             ("fieldkit.cli_probe", "probe"),
    "commission":        ("valvey.cli_commission", "commission"),
    "commission-record": ("valvey.cli_local",  "commission_record"),
    "draw":              ("valvey.cli_config", "draw"),
    "loop":              ("valvey.loop.cli",   "app"),
}
# fmt: on
_COMMAND = Command(TEXT, COMMANDS, "valvey.start")
build, main = _COMMAND.build, _COMMAND.main

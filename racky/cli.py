"""The command ``racky``: its commands, by name."""

from fieldkit.cli_app import Command

TEXT = "The control point of one rack: its power, its health, its lifecycle. Asks Valvey; never touches a valve."
# fmt: off
COMMANDS: dict[str, tuple[str, str]] = {
    "run":          ("racky.cli_local", "run"),
    "check-config": ("racky.cli_local", "check_config"),
    "field":        ("racky.cli_local", "field"),
    "probe":        ("fieldkit.cli_probe", "probe"),
    "draw":         ("racky.cli_local", "draw"),
    "health":       ("racky.cli_mqtt",  "health"),
    "request":      ("racky.cli_mqtt",  "request"),
}
# fmt: on
_COMMAND = Command(TEXT, COMMANDS, "racky.start")
build, main = _COMMAND.build, _COMMAND.main

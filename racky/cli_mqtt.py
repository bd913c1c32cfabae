"""Commands that speak contract 1 over the broker: ``health``, ``request``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from fieldkit import cli_asking
from fieldkit.asking import Seen
from fieldkit.broker import settings_of
from fieldkit.cli_asking import (
    ArgOption,
    BrokerOption,
    ByOption,
    ClientOption,
    RackOption,
    RoleOption,
    SeqOption,
    SiteOption,
    Target,
    TimeoutOption,
    WaitOption,
    Wish,
    arguments,
    ask,
    check,
    look,
    mqtt_id,
)
from fieldkit.cli_parts import AsOutput, Output, WhyOption, fail, tell
from fieldkit.exit_codes import EXIT
from fieldkit.topics import Daemon, Role
from racky.core.requests import REQUESTS

MaybeConfig = Annotated[
    Path | None, typer.Argument(metavar="[CONFIG]", help="the rack's file of Racky; else --broker, --site, --rack")
]
SILENT: dict[str, Any] = {
    "id": "racky-silent",
    "text": "this rack's Racky is not heard",
    "action": "look whether it runs, and at the broker",
    "evidence": "the broker says that it is offline",
    "since_wall_s": None,
    "blocks": ["allocation", "power_on", "service"],
    "classifications": ["PreventAllocations"],
    "behind": None,
    "hidden": False,
}
"""The first cause of a rack whose Racky is away: what it said last may not hold any more."""


def target(config: Path | None, broker: str | None, site: str | None, rack: str | None, client: str | None) -> Target:
    """Work out which rack is meant; exits with 2 when it is not said."""
    found = None
    if config is not None:
        from racky.cli_local import load_config

        loaded = load_config(config)
        try:
            settings = settings_of(loaded.data.mqtt, loaded.path, mqtt_id(Daemon.RACKY))
        except OSError as error:
            fail(str(error), EXIT.USAGE)
        found = (settings, loaded.data.site, loaded.data.rack)
    return cli_asking.target(Daemon.RACKY, found, broker, site, rack, client)


def health(
    config: MaybeConfig = None,
    broker: BrokerOption = None,
    site: SiteOption = None,
    rack: RackOption = None,
    check: Annotated[bool, typer.Option("--check", help="exit with 1 unless the rack is healthy")] = False,
    output: AsOutput = Output.TEXT,
) -> None:
    """Print what is wrong with a rack, the root first, since when, and what it blocks. Exit code 5 when its Racky is not heard."""
    where = target(config, broker, site, rack, None)
    seen = look(where)
    document = health_document(where, seen)
    tell(document, output, _text(document))
    if not seen.online:
        raise typer.Exit(int(EXIT.UNREACHABLE))
    if check and not document["healthy"]:
        raise typer.Exit(int(EXIT.FAILED))


def health_document(where: Target, seen: Seen) -> dict[str, Any]:
    """Return the rack's health as the broker keeps it; a rack whose Racky is away is not healthy."""
    detail = {} if seen.state is None else seen.state.detail
    told = detail.get("health")
    found: dict[str, Any] = dict(told) if isinstance(told, dict) else {"causes": []}
    causes = found["causes"] if seen.online else [SILENT, *found["causes"]]
    return {
        "site": where.site,
        "rack": where.node,
        "simulated": seen.state is not None and seen.state.simulated,
        "online": seen.online,
        "healthy": seen.online and not causes and told is not None,
        "maintenance": found.get("maintenance", False),
        "causes": causes,
        "blocks": found.get("blocks", []) if seen.online else SILENT["blocks"],
        "classifications": found.get("classifications", []) if seen.online else SILENT["classifications"],
        "power": detail.get("power"),
        "lifecycle": detail.get("lifecycle"),
    }


def request(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="e.g. power_on; docs/generated/requests-racky.md has all")
    ],
    config: MaybeConfig = None,
    arg: ArgOption = None,
    why: WhyOption = "",
    by: ByOption = "",
    role: RoleOption = Role.OPERATOR,
    client: ClientOption = None,
    expect_seq: SeqOption = "auto",
    wait: WaitOption = False,
    timeout_s: TimeoutOption = None,
    broker: BrokerOption = None,
    site: SiteOption = None,
    rack: RackOption = None,
    output: AsOutput = Output.TEXT,
) -> None:
    """Ask Racky for something. Exit code 0 accepted (with --wait: succeeded), 3 refused, 4 no answer, 5 unreachable."""
    check(name, REQUESTS, expect_seq)
    args = arguments(name, REQUESTS[name].args, arg or [])
    where = target(config, broker, site, rack, client)
    ask(where, Wish(name, args, role, by, why, expect_seq, True, wait, timeout_s), output)


def _text(document: dict[str, Any]) -> str:
    mode = "SIMULATED " if document["simulated"] else ""
    verdict = "healthy" if document["healthy"] else f"{len(document['causes'])} causes"
    resting = ", in maintenance" if document["maintenance"] else ""
    power, life = document["power"], document["lifecycle"]
    lines = [f"{mode}{document['site']}/{document['rack']}: {verdict}{resting}"]
    if power is not None:
        lines.append(f"power      {power['phase']}{_after(power['why'])}")
    if life is not None:
        progress = life.get("progress")
        percent = "" if progress is None else f", {progress['percent']:.0f} %"
        lines.append(f"lifecycle  {life['state']} {life['step']}{percent}{_after(life['remark'])}")
    for cause in document["causes"]:
        behind = "" if cause["behind"] is None else " (behind " + cause["behind"] + ")"
        lines.append(f"cause      {cause['id']}{behind}: {cause['text']}{_after(cause['evidence'])}")
        lines.append(f"           do: {cause['action']}")
    if document["blocks"]:
        lines.append(f"blocks     {', '.join(document['blocks'])}")
    return "\n".join(lines)


def _after(text: str) -> str:
    return f": {text}" if text else ""

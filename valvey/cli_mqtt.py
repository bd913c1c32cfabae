"""Commands that speak contract 1 over the broker: ``status``, ``request``, ``arm``."""

from pathlib import Path
from typing import Annotated

import typer

from fieldkit import cli_asking
from fieldkit.asking import Seen
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
from fieldkit.request import Kind as Class
from fieldkit.topics import Daemon, Role
from valvey.cli_parts import EXIT, AsOutput, ConfigArg, Output, WhyOption, fail, load_config, tell
from valvey.core.requests import REQUESTS

MaybeConfig = Annotated[
    Path | None, typer.Argument(metavar="[CONFIG]", help="the rack's file; else --broker, --site, --rack")
]


def target(config: Path | None, broker: str | None, site: str | None, rack: str | None, client: str | None) -> Target:
    """Work out which rack is meant; exits with 2 when it is not said."""
    found = None
    if config is not None:
        from valvey.broker import settings

        loaded = load_config(config)
        try:
            found = (settings(loaded, mqtt_id(Daemon.VALVEY)), loaded.data.site, loaded.data.rack)
        except (OSError, ValueError) as error:
            fail(str(error), EXIT.USAGE)
    return cli_asking.target(Daemon.VALVEY, found, broker, site, rack, client)


def needs_seq(name: str) -> bool:
    """Whether a request has to name the state that it was meant for."""
    row = REQUESTS.get(name)
    return row is not None and (row.kind is Class.OPENING or row.name == "cancel")


def status(
    config: MaybeConfig = None,
    broker: BrokerOption = None,
    site: SiteOption = None,
    rack: RackOption = None,
    output: AsOutput = Output.TEXT,
) -> None:
    """Print how a rack stands, from the state that the broker keeps."""
    where = target(config, broker, site, rack, None)
    seen = look(where)
    document = {
        "site": where.site,
        "rack": where.node,
        "online": seen.online,
        "availability": None if seen.availability is None else seen.availability.model_dump(mode="json"),
        "state": None if seen.state is None else seen.state.model_dump(mode="json"),
        "alarms": [one.model_dump(mode="json") for one in seen.alarms.values()],
    }
    tell(document, output, _status_text(where, seen))


def request(
    name: Annotated[str, typer.Argument(metavar="NAME", help="e.g. isolate; docs/generated/requests.md has all")],
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
    plan: Annotated[
        bool, typer.Option("--plan", help="do nothing: say what it would do to neighbours, pressure and clock")
    ] = False,
    loop: Annotated[str | None, typer.Option("--loop", help="with --plan: whose coordinator; found by itself")] = None,
    output: AsOutput = Output.TEXT,
) -> None:
    """Ask a rack for something. Exit code 0 accepted (with --wait: succeeded), 3 refused, 4 no answer, 5 unreachable."""
    check(name, REQUESTS, expect_seq)
    where = target(config, broker, site, rack, client)
    if plan:
        from valvey.cli_plan import show

        show(where, name, role, loop, timeout_s or 5.0, output)
        return
    args = arguments(name, REQUESTS[name].args, arg or [])
    ask(where, Wish(name, args, role, by, why, expect_seq, needs_seq(name), wait, timeout_s), output)


def arm(config: ConfigArg, why: WhyOption, client: ClientOption = None, output: AsOutput = Output.TEXT) -> None:
    """Let a disarmed rack act: as engineer, with a reason, while it is ISOLATED or DRAINED."""
    request("arm", config, why=why, role=Role.ENGINEER, client=client, output=output)


def _status_text(where: Target, seen: Seen) -> str:
    state = seen.state
    if state is None:
        return f"{where.node}: nothing is known"
    mode = "SIMULATED " if state.simulated else ""
    lines = [
        f"{mode}{where.site}/{where.node}: {'online' if seen.online else 'OFFLINE (as it stood last)'}",
        f"state      {state.state} {state.step or ''}, seq {state.state_seq}{'' if state.armed else ', DISARMED'}",
        f"inventory  {state.inventory}, {'tested' if state.tested else 'not tested'}",
    ]
    lines += [
        f"latched    {one.sif}: {one.cause}{' (first-out)' if n == 0 else ''}" for n, one in enumerate(state.latches)
    ]
    lines += [f"locked     by {one.owner}: {one.why}" for one in state.locks]
    lines += [f"bypassed   {one.what} by {one.by}: {one.why}" for one in state.bypasses]
    lines += [f"lease      {one.id} for {one.work}, {one.left_s:g} s left" for one in state.grants]
    if state.detail.get("uncoordinated") is True:
        lines.append("lease      none: the isolation goes on uncoordinated")
    lines += [
        f"alarm      {one.priority.value:8} {one.state.value:13} {one.id}: {one.cause}" for one in seen.alarms.values()
    ]
    return "\n".join(lines)

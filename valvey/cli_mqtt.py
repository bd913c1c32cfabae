"""Commands that speak contract 1 over the broker: ``status``, ``request``, ``arm``."""

import asyncio
import getpass
import json
import os
import re
import time
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from fieldkit import envelope
from fieldkit.errors import nearest
from fieldkit.mqtt_types import Settings
from fieldkit.topics import Role
from valvey.asking import NoAnswerError, Seen, UnreachableError, needs_seq, talking
from valvey.cli_parts import EXIT, AsOutput, ConfigArg, Output, WhyOption, fail, load_config, tell
from valvey.core.requests import REQUESTS

MaybeConfig = Annotated[
    Path | None, typer.Argument(metavar="[CONFIG]", help="the rack's file; else --broker, --site, --rack")
]
BrokerOption = Annotated[str | None, typer.Option("--broker", help="host:port")]
SiteOption = Annotated[str | None, typer.Option("--site")]
RackOption = Annotated[str | None, typer.Option("--rack")]
RoleOption = Annotated[Role, typer.Option("--role", help="who asks; the broker's access list decides whether you may")]
ClientOption = Annotated[
    str | None, typer.Option("--client", help="your name in the topic; your login or user name unless given")
]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Target:
    """Which rack, over which broker, under which name."""

    settings: Settings
    site: str
    rack: str
    client: str


def target(config: Path | None, broker: str | None, site: str | None, rack: str | None, client: str | None) -> Target:
    """Work out where to go; exits with 2 when it is not said."""
    from fieldkit.broker import TIMEOUT_S
    from valvey.broker import settings

    name = client or _user()
    mqtt_id = f"valvey-cli-{os.getpid()}-{time.monotonic_ns() % 1_000_000}"
    if config is not None:
        loaded = load_config(config)
        try:
            found = settings(loaded, mqtt_id)
        except (OSError, ValueError) as error:
            fail(str(error), EXIT.USAGE)
        if broker is not None:
            found = replace(found, host=_host(broker)[0], port=_host(broker)[1])
        login = found.username if client is None and found.username is not None else name
        return Target(found, site or loaded.data.site, rack or loaded.data.rack, login)
    if broker is None or site is None or rack is None:
        fail("say which rack: its CONFIG, or --broker HOST:PORT --site SITE --rack RACK", EXIT.USAGE)
    host, port = _host(broker)
    return Target(Settings(host, port, mqtt_id, timeout_s=TIMEOUT_S), site, rack, name)


def status(
    config: MaybeConfig = None,
    broker: BrokerOption = None,
    site: SiteOption = None,
    rack: RackOption = None,
    output: AsOutput = Output.TEXT,
) -> None:
    """Print how a rack stands, from the state that the broker keeps."""
    where = target(config, broker, site, rack, None)

    async def look() -> Seen:
        async with talking(where.settings, where.site, where.rack, where.client) as talk:
            return await talk.look()

    seen = _run(look())
    document = {
        "site": where.site,
        "rack": where.rack,
        "online": seen.online,
        "availability": None if seen.availability is None else seen.availability.model_dump(mode="json"),
        "state": None if seen.state is None else seen.state.model_dump(mode="json"),
        "alarms": [one.model_dump(mode="json") for one in seen.alarms.values()],
    }
    tell(document, output, _status_text(where, seen))


def request(
    name: Annotated[str, typer.Argument(metavar="NAME", help="e.g. isolate; `valvey draw` lists all")],
    config: MaybeConfig = None,
    arg: Annotated[
        list[str] | None, typer.Option("--arg", help="key=value, e.g. --arg sif=SIF-1; may be repeated")
    ] = None,
    why: Annotated[str, typer.Option("--why", help="the reason, for the record")] = "",
    by: Annotated[str, typer.Option("--by", help="a name for people; who asks is in the topic")] = "",
    role: RoleOption = Role.OPERATOR,
    client: ClientOption = None,
    expect_seq: Annotated[
        str, typer.Option("--expect-seq", help="auto (as the rack stands now), a number, or none")
    ] = "auto",
    wait: Annotated[bool, typer.Option("--wait", help="wait for its end, not only for the answer")] = False,
    timeout_s: Annotated[
        float | None, typer.Option("--timeout", min=0.1, help="seconds; 10 for the answer, 900 with --wait")
    ] = None,
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
    if name not in REQUESTS:
        near = nearest(name, REQUESTS)
        hint = f"; did you mean {near!r}?" if near else ""
        fail(f"there is no request {name!r}{hint} (one of: {', '.join(REQUESTS)})", EXIT.USAGE)
    if expect_seq not in {"auto", "none"} and not expect_seq.isdecimal():
        fail(f"--expect-seq {expect_seq}: auto, none or a number", EXIT.USAGE)
    where = target(config, broker, site, rack, client)
    if plan:
        from valvey.cli_plan import show

        show(where, name, role, loop, timeout_s or 5.0, output)
        return
    args = arguments(name, arg or [])
    limit_s = timeout_s or (900.0 if wait else 10.0)
    responses = _ask(where, name, args, role, by, why, expect_seq, wait, limit_s, output)
    last = responses[-1]
    refused = next((one for one in responses if one.status is envelope.Status.REFUSED), None)
    document = {
        "ok": refused is None and last.status is not envelope.Status.FAILED,
        "id": last.id,
        "request": name,
        "status": last.status.value,
        "responses": [one.model_dump(mode="json", exclude_none=True) for one in responses],
    }
    if output is Output.JSON:
        typer.echo(json.dumps(document))
    if refused is not None:
        raise typer.Exit(int(EXIT.REFUSED))
    if last.status in {envelope.Status.FAILED, envelope.Status.CANCELLED, envelope.Status.EXPIRED}:
        raise typer.Exit(int(EXIT.FAILED))


def arm(config: ConfigArg, why: WhyOption, client: ClientOption = None, output: AsOutput = Output.TEXT) -> None:
    """Let a disarmed rack act: as engineer, with a reason, while it is ISOLATED or DRAINED."""
    request("arm", config, why=why, role=Role.ENGINEER, client=client, output=output)


def arguments(name: str, given: list[str]) -> dict[str, Any]:
    """Return ``key=value`` texts as the request's own types; exits with 2 for what cannot be read."""
    known = REQUESTS[name].args
    out: dict[str, Any] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals:
            fail(f"--arg {text}: write key=value", EXIT.USAGE)
        arg = known.get(key)
        if arg is None:
            near = nearest(key, known)
            fail(
                f"--arg {key}: {name!r} has {', '.join(known) or 'no arguments'}{f'; did you mean {near!r}?' if near else ''}",
                EXIT.USAGE,
            )
        if list in arg.types:
            out[key] = _list(key, value)
        elif bool in arg.types:
            if value not in {"true", "false"}:
                fail(f"--arg {text}: true or false", EXIT.USAGE)
            out[key] = value == "true"
        elif str in arg.types:
            out[key] = value
        else:
            try:
                out[key] = float(value)
            except ValueError:
                fail(f"--arg {text}: a number", EXIT.USAGE)
    return out


def _list(key: str, value: str) -> list[Any]:
    if not value.startswith("["):
        return [part for part in value.split(",") if part]
    try:
        found = json.loads(value)
    except ValueError:
        found = None
    if not isinstance(found, list):
        fail(f"--arg {key}={value}: a JSON list, or names with commas between them", EXIT.USAGE)
    return found


def _ask(
    where: Target,
    name: str,
    args: dict[str, Any],
    role: Role,
    by: str,
    why: str,
    expect_seq: str,
    wait: bool,
    limit_s: float,
    output: Output,
) -> list[envelope.Response]:
    def told(response: envelope.Response) -> None:
        if output is Output.TEXT:
            parts = [response.status.value, response.code or "", response.reason or ""]
            line = " ".join(part for part in parts if part and part != "ok")
            typer.echo(
                f"{name}: {line}" + (f" (would allow it: {response.would_allow})" if response.would_allow else "")
            )

    async def ask() -> list[envelope.Response]:
        async with talking(where.settings, where.site, where.rack, where.client) as talk:
            seq = int(expect_seq) if expect_seq.isdecimal() else None
            seen = await talk.look()
            if not seen.online:
                raise UnreachableError(f"the daemon of {where.site}/{where.rack} is offline")
            if expect_seq == "auto" and needs_seq(name) and seen.state is not None:
                seq = seen.state.state_seq
            return await talk.ask(
                name, args, role=role, by=by, why=why, expect_seq=seq, wait_end=wait, timeout_s=limit_s, told=told
            )

    return _run(ask())


def _run(work: Coroutine[Any, Any, T]) -> T:
    try:
        return asyncio.run(work)
    except UnreachableError as error:
        fail(str(error), EXIT.UNREACHABLE)
    except NoAnswerError as error:
        fail(str(error), EXIT.TIMEOUT)


def _status_text(where: Target, seen: Seen) -> str:
    state = seen.state
    if state is None:
        return f"{where.rack}: nothing is known"
    mode = "SIMULATED " if state.simulated else ""
    lines = [
        f"{mode}{where.site}/{where.rack}: {'online' if seen.online else 'OFFLINE (as it stood last)'}",
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


def _host(broker: str) -> tuple[str, int]:
    host, _, port = broker.removeprefix("mqtt://").rpartition(":")
    if not host or not port.isdecimal() or not 1 <= int(port) <= 65535:
        fail(f"--broker {broker}: write HOST:PORT", EXIT.USAGE)
    return host.strip("[]"), int(port)


def _user() -> str:
    try:
        name = getpass.getuser()
    except OSError:
        name = "cli"
    return re.sub(r"[^a-z0-9_-]", "-", name.lower())[:64] or "cli"

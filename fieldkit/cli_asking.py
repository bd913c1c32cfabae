"""What the command lines share that speak contract 1: which daemon over which broker, arguments, and asking it."""

import asyncio
import getpass
import json
import os
import re
import time
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Protocol, TypeVar

import typer

from fieldkit import envelope
from fieldkit.asking import NoAnswerError, Seen, UnreachableError, talking
from fieldkit.broker import TIMEOUT_S
from fieldkit.cli_parts import Output, fail
from fieldkit.errors import nearest
from fieldkit.exit_codes import EXIT
from fieldkit.mqtt_types import Settings
from fieldkit.topics import Daemon, Role

BrokerOption = Annotated[str | None, typer.Option("--broker", help="host:port")]
SiteOption = Annotated[str | None, typer.Option("--site")]
RackOption = Annotated[str | None, typer.Option("--rack")]
RoleOption = Annotated[Role, typer.Option("--role", help="who asks; the broker's access list decides whether you may")]
ClientOption = Annotated[
    str | None, typer.Option("--client", help="your name in the topic; your login or user name unless given")
]
ArgOption = Annotated[list[str] | None, typer.Option("--arg", help="key=value, e.g. --arg owner=ann; may be repeated")]
ByOption = Annotated[str, typer.Option("--by", help="a name for people; who asks is in the topic")]
SeqOption = Annotated[str, typer.Option("--expect-seq", help="auto (as the rack stands now), a number, or none")]
WaitOption = Annotated[bool, typer.Option("--wait", help="wait for its end, not only for the answer")]
TimeoutOption = Annotated[
    float | None, typer.Option("--timeout", min=0.1, help="seconds; 10 for the answer, 900 with --wait")
]
T = TypeVar("T")


class Typed(Protocol):
    """One argument of a request: the Python types that JSON may bring for it."""

    @property
    def types(self) -> tuple[type, ...]: ...


@dataclass(frozen=True, slots=True)
class Target:
    """Which daemon, over which broker, under which name."""

    settings: Settings
    site: str
    node: str
    daemon: Daemon
    client: str


@dataclass(frozen=True, slots=True)
class Wish:
    """One request, as the command line has it. ``seq``: auto, none, or a number; ``needs_seq``: whether auto sends one."""

    name: str
    args: Mapping[str, Any]
    role: Role
    by: str
    why: str
    seq: str
    needs_seq: bool
    wait_end: bool
    timeout_s: float | None
    """None: 10 for the answer, 900 for the end."""


def target(
    daemon: Daemon, found: tuple[Settings, str, str] | None, broker: str | None, site: str | None, rack: str | None,
    client: str | None,
) -> Target:  # fmt: skip
    """Work out where to go; exits with 2 when it is not said.

    found  settings, site and rack of a configuration file, where one was given
    """
    name = client or _user()
    if found is not None:
        settings, own_site, own_rack = found
        if broker is not None:
            settings = replace(settings, host=_host(broker)[0], port=_host(broker)[1])
        login = settings.username if client is None and settings.username is not None else name
        return Target(settings, site or own_site, rack or own_rack, daemon, login)
    if broker is None or site is None or rack is None:
        fail("say which rack: its CONFIG, or --broker HOST:PORT --site SITE --rack RACK", EXIT.USAGE)
    host, port = _host(broker)
    return Target(Settings(host, port, mqtt_id(daemon), timeout_s=TIMEOUT_S), site, rack, daemon, name)


def mqtt_id(daemon: Daemon) -> str:
    """Return a client id of this call's own."""
    return f"{daemon}-cli-{os.getpid()}-{time.monotonic_ns() % 1_000_000}"


def check(name: str, known: Mapping[str, object], seq: str) -> None:
    """Exits with 2 for a request that does not exist, or an ``--expect-seq`` that says nothing."""
    if name not in known:
        near = nearest(name, known)
        hint = f"; did you mean {near!r}?" if near else ""
        fail(f"there is no request {name!r}{hint} (one of: {', '.join(known)})", EXIT.USAGE)
    if seq not in {"auto", "none"} and not seq.isdecimal():
        fail(f"--expect-seq {seq}: auto, none or a number", EXIT.USAGE)


def look(where: Target) -> Seen:
    """What the broker keeps of a daemon."""

    async def conversation() -> Seen:
        async with talking(where.settings, where.site, where.node, where.daemon, where.client) as talk:
            return await talk.look()

    return run(conversation())


def ask(where: Target, wish: Wish, output: Output) -> None:
    """Ask, print what comes back, and exit: 0 accepted (to its end: succeeded), 1 failed, 3 refused, 4 no answer, 5 unreachable."""

    def told(response: envelope.Response) -> None:
        if output is Output.TEXT:
            parts = [response.status.value, response.code or "", response.reason or ""]
            line = " ".join(part for part in parts if part and part != "ok")
            allow = f" (would allow it: {response.would_allow})" if response.would_allow else ""
            typer.echo(f"{wish.name}: {line}{allow}")

    async def conversation() -> list[envelope.Response]:
        async with talking(where.settings, where.site, where.node, where.daemon, where.client) as talk:
            seq = int(wish.seq) if wish.seq.isdecimal() else None
            seen = await talk.look()
            if not seen.online:
                raise UnreachableError(f"the daemon {where.daemon} of {where.site}/{where.node} is offline")
            if wish.seq == "auto" and wish.needs_seq and seen.state is not None:
                seq = seen.state.state_seq
            return await talk.ask(
                wish.name, dict(wish.args), role=wish.role, by=wish.by, why=wish.why, expect_seq=seq,
                wait_end=wish.wait_end, timeout_s=wish.timeout_s or (900.0 if wish.wait_end else 10.0), told=told,
            )  # fmt: skip

    responses = run(conversation())
    last = responses[-1]
    refused = next((one for one in responses if one.status is envelope.Status.REFUSED), None)
    document = {
        "ok": refused is None and last.status is not envelope.Status.FAILED,
        "id": last.id,
        "request": wish.name,
        "status": last.status.value,
        "responses": [one.model_dump(mode="json", exclude_none=True) for one in responses],
    }
    if output is Output.JSON:
        typer.echo(json.dumps(document))
    if refused is not None:
        raise typer.Exit(int(EXIT.REFUSED))
    if last.status in {envelope.Status.FAILED, envelope.Status.CANCELLED, envelope.Status.EXPIRED}:
        raise typer.Exit(int(EXIT.FAILED))


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a conversation; exits with 5 without a broker or a daemon, with 4 without an answer."""
    try:
        return asyncio.run(work)
    except UnreachableError as error:
        fail(str(error), EXIT.UNREACHABLE)
    except NoAnswerError as error:
        fail(str(error), EXIT.TIMEOUT)


def arguments(name: str, known: Mapping[str, Typed], given: list[str]) -> dict[str, Any]:
    """Return ``key=value`` texts as the types of the request's arguments; exits with 2 for what cannot be read."""
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

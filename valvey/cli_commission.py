"""``valvey commission``: what a rack's field shows, beside what people see of it, signed, before it is armed."""

import getpass
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from fieldkit.errors import ConfigError, nearest
from fieldkit.service import AlreadyRunningError, InstanceLock
from valvey.cli_parts import EXIT, AsOutput, ConfigArg, Output, fail, load_config, tell
from valvey.commissioning.answers import Asked, FromFile, QuitError, Terminal, read_file
from valvey.commissioning.line import Line
from valvey.commissioning.plan import lines_of, not_covered
from valvey.commissioning.session import RefusedError, Session, UnreachableError
from valvey.commissioning.signoff import NOT_DONE, Lack, SignOff, lacks
from valvey.config import RackConfig, field_digest
from valvey.paths import Paths


def commission(
    config: ConfigArg,
    by: Annotated[str, typer.Option("--by", help="who does it; the login's name unless given")] = "",
    record: Annotated[
        Path | None, typer.Option("--record", help="the record; signoff.json beside the rack's memory unless given")
    ] = None,
    answers: Annotated[
        Path | None, typer.Option("--answers", help="a YAML file that answers for the terminal, for a bench")
    ] = None,
    line: Annotated[
        list[str] | None, typer.Option("--line", help="do this line, again where it is done; may be repeated")
    ] = None,
    wait_s: Annotated[
        float, typer.Option("--wait", min=1.0, max=900.0, help="seconds to wet a zone or press a button")
    ] = 120.0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="print the lines; nothing is touched or written")] = False,
    output: AsOutput = Output.TEXT,
) -> None:
    """Commission one rack's field, line by line: reads, strokes valves, wets zones, raises the permit on a dead bus-bar.

    The rack's daemon must not run, the rack must be disarmed, shut and dark, and its feeder locked off. A run that was
    broken off goes on where it ended. Exit code 0: complete and signed; 1: something is left or failed.
    """
    loaded = load_config(config)
    lines = lines_of(loaded)
    _known(line or [], lines)
    if dry_run:
        tell(_plan(loaded, lines), output, _plan_text(loaded, lines))
        return
    path = Paths.of(loaded).signoff if record is None else record
    person = _person(answers, by, loaded, lines)
    try:
        with InstanceLock(Paths.of(loaded).lock):
            found = Session(loaded, person, path, _say, wait_s=wait_s, only=line or ()).run()
    except AlreadyRunningError as error:
        fail(f"{error}. A rack that is guarded is not commissioned", EXIT.REFUSED)
    except RefusedError as error:
        fail(f"refused, nothing was written: {error}", EXIT.REFUSED)
    except UnreachableError as error:
        fail(str(error), EXIT.UNREACHABLE)
    except OSError as error:
        fail(f"{path}: {error}", EXIT.FAILED)
    except (QuitError, KeyboardInterrupt):
        fail(f"left; what is done is kept in {path}, and the same command goes on from there", EXIT.FAILED)
    missing = lacks(found, loaded.data.site, loaded.data.rack, field_digest(loaded), lines)
    tell(found.model_dump(mode="json", by_alias=True), output, _result_text(found, missing, path))
    if missing:
        raise typer.Exit(int(EXIT.FAILED))


def _person(answers: Path | None, by: str, config: RackConfig, lines: tuple[Line, ...]) -> Asked:
    if answers is None:
        return Terminal(by.strip() or getpass.getuser())
    try:
        return FromFile(read_file(answers, lines, simulated=config.data.simulated))
    except ConfigError as error:
        fail(error.counted, EXIT.USAGE)


def _known(names: list[str], lines: tuple[Line, ...]) -> None:
    known = [line.id for line in lines]
    for name in names:
        if name not in known:
            near = nearest(name, known)
            fail(
                f"this rack has no line {name!r}{f'; did you mean {near!r}?' if near else ''}; see --dry-run",
                EXIT.USAGE,
            )


def _say(text: str) -> None:
    typer.echo(f"commission: {text}", err=True)


def _plan(config: RackConfig, lines: tuple[Line, ...]) -> dict[str, Any]:
    listed = [{"id": one.id, "what": one.what, "expected": one.expected, "tags": one.tags} for one in lines]
    return {"digest": field_digest(config), "lines": listed, "not_covered": not_covered(config)}


def _plan_text(config: RackConfig, lines: tuple[Line, ...]) -> str:
    width = max(len(one.id) for one in lines)
    rows = [f"{one.id:<{width}}  {one.what}; expected {json.dumps(dict(one.expected))}" for one in lines]
    rows += [f"not covered: {tag}: {why}" for tag, why in not_covered(config).items()]
    return "\n".join([*rows, f"{len(lines)} lines; digest {field_digest(config)}"])


def _result_text(record: SignOff, missing: list[Lack], path: Path) -> str:
    undone = [one for one in missing if one.what == NOT_DONE]
    rows = [f"{one.line}: {one.what}" for one in missing if one.what != NOT_DONE]
    rows += [f"{len(undone)} lines are not done yet, the next is {undone[0].line}"] if undone else []
    state = (
        f"signed by {record.signed.by}, {record.signed.at}"
        if record.signed is not None and not missing
        else "NOT complete"
    )
    mode = "SIMULATED " if record.simulated else ""
    return "\n".join([*rows, f"{mode}{record.site}/{record.rack}: {state}; {path}"])

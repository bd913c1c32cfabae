"""``probe``: what is on a bus? Reads, and writes one point only when it is told to."""

import asyncio
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from fieldkit import profile_file
from fieldkit.cli_parts import AsOutput, Output, fail, tell
from fieldkit.config_bus import SerialLine
from fieldkit.errors import ConfigError, nearest
from fieldkit.exit_codes import EXIT
from fieldkit.probing import matching
from fieldkit.probing.asker import Asker, UnreachableError, units_of
from fieldkit.probing.draft import dumped, starting
from fieldkit.probing.guesses import expected
from fieldkit.probing.page import page
from fieldkit.probing.session import Asked, Session, Unit, why_not, write
from fieldkit.profile import Profile
from fieldkit.rtu_frames import Line, Parity
from fieldkit.wires import Opener, serial, speed_of, stream

_TABLES = ("holding", "input", "coil", "discrete")
_PLACE = re.compile(r"(?:(holding|input|coil|discrete):)?(\d+|0x[0-9a-fA-F]+)")
_RANGE = re.compile(r"(holding|input|coil|discrete):(\d+|0x[0-9a-fA-F]+)-(\d+|0x[0-9a-fA-F]+)")
_NAME = re.compile(r"[a-z0-9]+_[a-z0-9-]+")
_ANOTHER = "refused: the device does not show that it is what --profile says"
_ADDRESS = re.compile(r"(\[[0-9a-fA-F:]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})")


def probe(
    target: Annotated[
        str, typer.Argument(help="host:port of a device or gateway, or a serial port (/dev/serial/by-id/...)")
    ],
    unit: Annotated[str, typer.Option("--unit", "--units", help="1, 1-10 or 1,3,200-205")] = "1",
    rtu: Annotated[bool, typer.Option("--rtu", help="host:port is a gateway that passes RTU frames on")] = False,
    baud: Annotated[int, typer.Option(help="of the serial line")] = 19200,
    parity: Annotated[str, typer.Option(help="N, E or O")] = "E",
    stop_bits: Annotated[int, typer.Option(min=1, max=2)] = 1,
    timeout_s: Annotated[float, typer.Option("--timeout", min=0.02, max=10.0, help="seconds for a reply")] = 0.5,
    gap_s: Annotated[float, typer.Option("--gap", min=0.0, max=5.0, help="seconds of quiet before each request")] = 0.0,
    read: Annotated[
        list[str] | None, typer.Option(help="holding:100, input:0x64, or 100 for both: read it every way")
    ] = None,
    expect: Annotated[float | None, typer.Option(help="the value that the device's display shows for --read")] = None,
    tolerance: Annotated[float | None, typer.Option(min=0.0, help="how far off may be; 1 % unless given")] = None,
    times: Annotated[int, typer.Option(min=0, max=100_000, help="repeat one read so often, for the histogram")] = 0,
    map_range: Annotated[
        list[str] | None, typer.Option("--map", help="holding:0-199: find its holes and longest read")
    ] = None,
    profile: Annotated[
        str | None, typer.Option(help="what the device is said to be; all profiles are tried unless given")
    ] = None,
    profiles_dir: Annotated[Path, typer.Option(help="where the profiles are")] = Path("configs/profiles"),
    compare: Annotated[bool, typer.Option("--compare/--no-compare", help="compare with the profiles")] = True,
    write_profile: Annotated[
        Path | None, typer.Option(help="write a starting profile: maker_model.yaml, a new file")
    ] = None,
    write_point: Annotated[
        str | None, typer.Option("--write", help="POINT=VALUE of --profile: write it once; needs --yes")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="do write")] = False,
    output: AsOutput = Output.TEXT,
) -> None:
    """Find out what is on a bus: who answers, what it is, what its registers read. Reads only, unless told to write."""
    line, opener, where = _way(target, rtu, baud, parity, stop_bits, timeout_s)
    try:
        units = units_of(unit, on_line=line is not None)
        places = [_place(text) for text in read or ()]
        ranges = [_range(text) for text in map_range or ()]
    except ValueError as error:
        fail(str(error), EXIT.USAGE)
    if expect is not None and not places:
        fail("--expect is compared with what --read reads: say which register", EXIT.USAGE)
    if write_profile is not None:
        _may_be_written(write_profile)
    profiles = _profiles(profiles_dir, profile) if compare or profile is not None else {}
    order = _order(write_point, profiles, profile, units, yes=yes, compare=compare)
    asked = Asked(
        units,
        profiles,
        profile,
        places,
        None if expect is None else expected(expect, tolerance),
        times,
        ranges,
        compare,
    )
    asker = Asker(where, opener, line, timeout_s, gap_s)

    def progress(text: str) -> None:
        typer.echo(f"probe: {text}", err=True)

    try:
        found, written = asyncio.run(_run(asker, asked, order, progress))
    except UnreachableError as error:
        fail(str(error), EXIT.UNREACHABLE)
    except KeyboardInterrupt:
        fail("interrupted", EXIT.FAILED)
    file = None if write_profile is None or not found else _write(write_profile, found[0], asker, profiles)
    document = _document(asker, asked, found, line, file)
    if written is not None:
        document["units"][0]["written"] = written
    tell(document, output, page(document))
    if not found:
        fail(_nobody(asker, units), EXIT.UNREACHABLE)
    strangers = [one for one in found for match in one.matches if profile is not None and match.identity is False]
    if strangers and written is None:
        one = strangers[0]
        fail(f"unit {one.unit} says that it is {one.matches[0].says!r}, which is not {profile}", EXIT.FAILED)
    if expect is not None and not any(one.fitting for one in found):
        fail(f"nothing that was read is {expect:g}", EXIT.FAILED)
    if written is not None and written["error"] is not None:
        fail(f"not written: {written['error']}", EXIT.REFUSED if written["error"] == _ANOTHER else EXIT.FAILED)


async def _run(
    asker: Asker, asked: Asked, order: tuple[str, float] | None, progress: Any
) -> tuple[list[Unit], dict[str, Any] | None]:
    try:
        found = await Session(asker, asked, progress).run()
        if order is None or not found or asked.profile is None:
            return found, None
        if not any(match.profile == asked.profile and match.likely for match in found[0].matches):
            return found, {"point": order[0], "value": order[1], "error": _ANOTHER, "reads": None}
        done = await write(asker, found[0].unit, asked.profiles[asked.profile], *order)
        return found, {"point": done.point, "value": done.value, "error": done.error, "reads": done.reads}
    finally:
        asker.close()


def _document(asker: Asker, asked: Asked, found: list[Unit], line: Line | None, file: Path | None) -> dict[str, Any]:
    there = {one.unit for one in found}
    return {
        "target": asker.where,
        "line": None if line is None else str(line),
        "units": [one.document(asker) for one in found],
        "silent": [unit for unit in asked.units if unit not in there],
        "requests": asker.requests,
        "hung_up": asker.closed,
        "echoes": asker.echoes,
        "delays": asker.delays.document(),
        "written_profile": None if file is None else str(file),
    }


def _nobody(asker: Asker, units: Any) -> str:
    who = f"unit {units[0]}" if len(units) == 1 else f"none of {len(units)} units"
    if asker.closed:
        return f"{asker.where}: {who} answers; it hung up {asker.closed} times: a device may serve one client, and have one already"
    return f"{asker.where}: {who} answers: check unit, wiring, and on a serial line baud and parity"


def _way(
    target: str, rtu: bool, baud: int, parity: str, stop_bits: int, timeout_s: float
) -> tuple[Line | None, Opener, str]:
    serial_port = target.startswith("/")
    line: Line | None = None
    if serial_port or rtu:
        try:
            line = SerialLine(baud=baud, parity=_parity(parity), stop_bits=2 if stop_bits == 2 else 1).line
        except ValueError:
            fail(f"{baud} 8{parity}{stop_bits}: a line has 1200..1000000 baud and parity N, E or O", EXIT.USAGE)
    if serial_port:
        assert line is not None  # ruff: ignore[assert] - made above
        if speed_of(baud) is None:
            fail(f"{baud} baud is no speed that this system has", EXIT.USAGE)
        return line, serial(target, line), target
    found = _ADDRESS.fullmatch(target if ":" in target else f"{target}:502")
    if found is None or not 1 <= int(found[2]) <= 65535:
        fail(f"{target!r}: write host:port, or the path of a serial port", EXIT.USAGE)
    return line, stream(found[1].strip("[]"), int(found[2]), max(1.0, timeout_s)), f"{found[1]}:{found[2]}"


def _parity(text: str) -> Parity:
    for one in ("N", "E", "O"):
        if text.upper() == one:
            return one
    raise ValueError(text)


def _place(text: str) -> tuple[tuple[str, ...], int]:
    found = _PLACE.fullmatch(text)
    if found is None or int(found[2], 0) > 0xFFFF:
        raise ValueError(f"--read {text!r}: write TABLE:ADDRESS, address 0..65535 as on the wire; {', '.join(_TABLES)}")
    return ((found[1],) if found[1] else ("holding", "input")), int(found[2], 0)


def _range(text: str) -> tuple[str, int, int]:
    found = _RANGE.fullmatch(text)
    if found is None or not int(found[2], 0) <= int(found[3], 0) <= 0xFFFF:
        raise ValueError(f"--map {text!r}: write TABLE:FIRST-LAST, e.g. holding:0-199, as on the wire")
    return found[1], int(found[2], 0), int(found[3], 0)


def _profiles(folder: Path, only: str | None) -> dict[str, Profile]:
    files = {path.stem: path for path in sorted(folder.glob("*.yaml"))}
    if only is not None and only not in files:
        near = nearest(only, files)
        hint = f"; did you mean {near!r}?" if near is not None else ""
        fail(f"no profile {only!r} in {folder}{hint}", EXIT.USAGE)
    try:
        return {name: profile_file.load(path) for name, path in files.items() if only in {None, name}}
    except ConfigError as error:
        fail(str(error), EXIT.USAGE)


def _order(
    text: str | None, profiles: dict[str, Profile], profile: str | None, units: Any, *, yes: bool, compare: bool
) -> tuple[str, float] | None:
    """What to write, refused here whatever the device is."""
    if text is None:
        return None
    if profile is None or len(units) != 1 or not compare:
        fail("--write needs --profile, compared with the device, and one --unit", EXIT.USAGE)
    name, _, number = text.partition("=")
    points = profiles[profile].points
    try:
        value = float(number)
    except ValueError:
        fail(f"--write {text!r}: write POINT=VALUE, the value in the point's unit", EXIT.USAGE)
    if name not in points:
        near = nearest(name, points)
        fail(f"profile {profile} has no point {name!r}{f'; did you mean {near!r}?' if near else ''}", EXIT.USAGE)
    if (why := why_not(profiles[profile], name, value)) is not None:
        fail(f"refused: {why}", EXIT.REFUSED)
    if not yes:
        point = points[name]
        what = f"{name} = {value:g} {point.reading_unit} ({point.table} {point.address}) of unit {units[0]}"
        fail(f"refused: would write {what}; say --yes when nobody else writes to it", EXIT.REFUSED)
    return name, value


def _may_be_written(file: Path) -> None:
    if file.suffix != ".yaml" or _NAME.fullmatch(file.stem) is None:
        fail(f"{file}: a profile's file is maker_model.yaml, in small letters, digits and -", EXIT.USAGE)
    if file.exists():
        fail(f"refused: {file} exists, and is not overwritten", EXIT.REFUSED)


def _write(file: Path, one: Unit, asker: Asker, profiles: dict[str, Profile]) -> Path:
    """Write what is known: the profile that the device is, as it decided its conflicts, or all registers that answered."""
    cite = f"probe of {asker.where} unit {one.unit}, {datetime.now(UTC):%Y-%m-%d}"
    try:
        if one.profile is not None:
            chosen = matching.with_decisions(profiles[one.profile], one.decisions())
            text = dumped(
                chosen.model_copy(update={"profile": file.stem}), f"{one.profile}, as the device decided: {cite}."
            )
        else:
            text = dumped(starting(file.stem, cite, one.extents, one.fitting, asker.gap_s), f"To be checked: {cite}.")
    except ValueError as error:
        fail(f"{error}; --map TABLE:FIRST-LAST finds registers", EXIT.FAILED)
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError:
        fail(f"refused: {file} exists, and is not overwritten", EXIT.REFUSED)
    except OSError as error:
        fail(f"{file}: {error.strerror}", EXIT.FAILED)
    return file

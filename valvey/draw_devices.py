"""docs/devices from the profiles: what each device is, how well it is known, what it does oddly and what is done about it."""

from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from fieldkit import yamlfile
from fieldkit.conflicts import Conflict
from fieldkit.markdown import table
from fieldkit.point import Point, PointType
from fieldkit.profile import FUNCTIONS, Expiry, Profile, Standing
from fieldkit.units import Unit
from valvey import draw_config

PROFILES = Path("configs") / "profiles"
FOLDER = Path("docs") / "devices"
INDEX = "README.md"
_KEYS = """# Writing a profile

A profile is one YAML file in `configs/profiles`, called `maker_model.yaml`. `valvey check-config` reads it with the rack's file and
tells every fault with its line. In this order:

1. Type each row from the maker's own page, with its address as on the wire (zero-based), and say in `cite` where it stands.
2. Say how well it is known: `none`, `manual`, `second_source`; `hardware` and the date once a reading was compared with the display.
3. Write down what the sources contradict each other in under `conflicts`, and how the device itself decides.
4. Type a dump by hand from the same page into `tests/contract/golden`, never from the profile: each register's neighbours hold other
   values, each number once with its highest bit, each word of bits by its names. `tests/contract/test_dumps_tell.py` says which slip
   no dump would show.
5. Give no output an expiry that the maker does not promise: XS-101 and the XVs are refused without one, and that is right.

"""
_SOURCES = "[sources.md](sources.md) says what the marks and the short names of sources mean."


def pages(root: Path) -> dict[Path, str]:
    """Return a page for each maker and the index, by path in the project; none without profiles. Raises ConfigError."""
    files = sorted((root / PROFILES).glob("*.yaml"))
    profiles = [yamlfile.check(yamlfile.load(path), Profile) for path in files]
    out = {FOLDER / f"{maker}.md": _family(list(group)) for maker, group in groupby(profiles, _maker)}
    if not profiles:
        return out
    return out | {FOLDER / INDEX: _index(profiles), FOLDER / "profile.md": _KEYS + draw_config.profile_reference()}


def _maker(profile: Profile) -> str:
    return profile.profile.partition("_")[0]


def _index(profiles: list[Profile]) -> str:
    heads = ("profile", "device", "points", *(str(one) for one in Standing), "conflicts", "outputs that expire")
    rows = []
    for profile in profiles:
        known = Counter(profile.standing(name) for name in profile.points)
        expiring = [name for name, one in profile.outputs.items() if expires(profile, one.expiry)]
        rows.append((
            f"[{profile.profile}]({_maker(profile)}.md#{profile.profile})",
            f"{profile.maker} {profile.model}",
            len(profile.points),
            *(known[one] or None for one in Standing),
            len(profile.conflicts) or None,
            ", ".join(expiring) or ("none: no XS-101, no XV" if profile.outputs else None),
        ))
    return (
        f"# The devices\n\nOne profile each, in `configs/profiles`; [profile.md](profile.md) says how to write one. {_SOURCES} A point in a conflict is not believed to be right "
        "until `probe` and a person have decided it on the device.\n"
        "Only a device whose outputs go off by themselves may carry the permit or an isolation valve; `check-config` refuses "
        "all others.\n\n" + table(heads, rows)
    )


def expires(profile: Profile, expiry: str | None) -> bool:
    """True when an output with this expiry goes off by itself on a device as delivered."""
    return expiry is not None and profile.expiries[expiry].as_delivered


def _family(profiles: list[Profile]) -> str:
    makers = ", ".join(dict.fromkeys(profile.maker for profile in profiles))
    return f"# {makers}\n\n{_SOURCES}\n" + "".join(_device(profile) for profile in profiles)


def _device(profile: Profile) -> str:
    parts = [
        f"\n## {profile.profile}\n\n{profile.maker}, {profile.model}. Typed from: {profile.cite}.\n\n",
        table(("on the wire", ""), _wire(profile)),
    ]
    if profile.outputs:
        rows = [(name, _expiry(profile, one.expiry), one.read_back, one.safe) for name, one in profile.outputs.items()]
        parts += ["\n### Outputs\n\n", table(("output", "goes off by itself", "read back at", "falls to"), rows)]
    if profile.quirks:
        quirks = [(one.device, one.we, one.cite) for one in profile.quirks]
        parts += ["\n### What it does, and what is done about it\n\n", table(("it", "we", "source"), quirks)]
    if profile.conflicts:
        parts += ["\n### Where its sources contradict each other\n\n", _conflicts(profile.conflicts)]
    heads = ("point", "where", "type", "unit", "range", "written", "no value when", "known", "source")
    points = [_point(profile, name, point) for name, point in _in_order(profile)]
    return "".join([*parts, "\n### Points\n\n", table(heads, points)])


def _wire(profile: Profile) -> Iterable[tuple[str, object]]:
    line = profile.serial
    yield "unit", profile.unit if profile.unit is not None else "not stated, or none until it is set"
    yield "serial line", None if line is None else f"{line.baud} 8{line.parity}{line.stop_bits}"
    yield "clients at once", profile.connections
    yield "registers a read", profile.max_registers
    yield "reads across holes", "yes" if profile.holes_ok else "no"
    yield "gap between requests", f"{profile.min_gap_s:g} s"
    yield "functions", ", ".join(map(str, profile.functions)) if profile.functions != FUNCTIONS else "all usual ones"
    yield "word order", f"{profile.word_order}"
    if profile.identity is not None:
        yield "told by", f"{profile.identity.point} = {profile.identity.expect}"
    for name, expiry in profile.expiries.items():
        yield f"watchdog {name}", _watchdog(expiry)


def _watchdog(expiry: Expiry) -> str:
    text = f"{expiry.default_s:g} s after the last write of {', '.join(expiry.rearmed_by)}"
    text += "" if expiry.as_delivered else "; off as delivered"
    return text + ("; outputs stay off until written off once" if expiry.seal_out else "")


def _expiry(profile: Profile, name: str | None) -> str:
    if name is None:
        return "**no**: it may not carry XS-101 or an XV"
    if not expires(profile, name):
        return f"**not as delivered** ({name}): it may not carry XS-101 or an XV"
    return f"after {profile.expiries[name].default_s:g} s ({name})"


def _conflicts(conflicts: dict[str, Conflict]) -> str:
    rows = []
    for name, one in conflicts.items():
        says = "; ".join(
            f"{'**' if key == one.used else ''}{key}{'** (in use)' if key == one.used else ''}: {other.says} [{other.cite}]"
            for key, other in one.alternatives.items()
        )
        within = (
            f" ({one.decide.point} within {one.decide.within[0]:g}..{one.decide.within[1]:g})"
            if one.decide.within
            else ""
        )
        points = ", ".join(one.points) if len(one.points) <= 6 else f"{len(one.points)} points"
        rows.append((name, one.about, says, points or None, one.decide.text + within))
    return table(("conflict", "about", "alternatives", "points", "how the device decides"), rows)


def _in_order(profile: Profile) -> list[tuple[str, Point]]:
    return sorted(profile.points.items(), key=lambda item: (item[1].table, item[1].address, item[1].bit or 0))


def _point(profile: Profile, name: str, point: Point) -> tuple[object, ...]:
    shown = f"{point.address}" if point.address < 256 else f"{point.address} (0x{point.address:X})"
    where = f"{point.table} {shown}" + ("" if point.bit is None else f" bit {point.bit}")
    kind = str(point.type)
    if point.words == 2 and point.type is not PointType.STRING:
        kind += f" {profile.order_of(point)}"
    if point.length is not None:
        kind += f" of {point.length}"
    if point.invert:
        kind += ", 0 means 1"
    written = ("wears out: never cyclically" if point.persistent else "yes") if point.writable else None
    if point.momentary:
        written = "yes, clears itself"
    span = None if point.range is None else f"{point.range[0]:g}..{point.range[1]:g}"
    unit = None if point.type in {PointType.BIT, PointType.STRING} or point.bands is not None else _counts(point)
    return (name, where, kind, unit, span, written, _no_value(point), profile.standing(name), point.cite)


def _counts(point: Point) -> str:
    if point.scale_by is not None:
        units = " or ".join(f"{_scale(c.scale)}{c.raw_unit} ({c.raw})" for c in point.scale_by.choices)
        return f"{units}, as register {point.scale_by.address} says"
    raw = point.raw_unit if point.raw_unit is not None else Unit.NONE
    shown = f"{_scale(point.scale)}{raw}" + (f" {point.offset:+g}" if point.offset else "")
    return shown if raw is point.reading_unit else f"{shown}, read as {point.reading_unit}"


def _scale(scale: float | tuple[int, int] | None) -> str:
    text = "1" if scale is None else f"{scale[0]}/{scale[1]}" if isinstance(scale, tuple) else f"{scale:g}"
    return "" if text == "1" else f"{text} "


def _no_value(point: Point) -> str | None:
    says = []
    if point.sentinels:
        says.append("raw " + ", ".join(f"{one:g}" for one in point.sentinels))
    if point.fault_bits:
        says.append("bit " + ", ".join(map(str, point.fault_bits)) + " is set")
    if point.fault_raw is not None:
        low, high = point.fault_raw
        says += [f"raw <= {low:g}"] if low is not None else []
        says += [f"raw >= {high:g}"] if high is not None else []
    if point.bands is not None:
        on, off = point.bands.on, point.bands.off
        says.append(f"raw neither {on[0]:g}..{on[1]:g} (1) nor {off[0]:g}..{off[1]:g} (0)")
    says += [f"{bit} is set" for bit in point.faulted_by]
    return "; ".join(says) or None

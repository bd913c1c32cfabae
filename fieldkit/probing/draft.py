"""A starting profile from what was found, as the text of a file that can be loaded. Pure."""

import json
from collections.abc import Iterable, Mapping

from fieldkit.point import LIMITS, REGISTER_TABLES, Point, PointType, Table, Verified, WordOrder, number_hint
from fieldkit.probing.extent import Extent
from fieldkit.probing.guesses import SCALES, Guess
from fieldkit.profile import Profile
from fieldkit.units import Unit

MOST_POINTS = 500
_READS = {Table.COIL: 1, Table.DISCRETE: 2, Table.HOLDING: 3, Table.INPUT: 4}
_WIDE = 1e9


def starting(name: str, cite: str, extents: Mapping[str, Extent], found: Iterable[Guess], min_gap_s: float) -> Profile:
    """Return a profile of every register that answered, each an unsigned word without a meaning, nothing writable.

    ``found`` are places that read what a person expected, the likeliest first; they stand as they were found.
    Raises ValueError when nothing answered.
    """
    points: dict[str, Point] = {}
    taken: set[tuple[str, int]] = set()
    for guess in found:
        claimed = {(guess.table, guess.address + n) for n in range(2 if guess.order is not None else 1)}
        if not claimed & taken:
            points[f"found_{guess.table}_{guess.address}"] = _found(guess, cite)
            taken |= claimed
    for table, extent in extents.items():
        for run in extent.runs:
            for address in range(run.address, run.address + run.count):
                if (table, address) not in taken and len(points) < MOST_POINTS:
                    points[f"{table}_{address}"] = _unknown(Table(table), address, cite)
    if not points:
        raise ValueError("nothing answered: there is no profile to write")
    most = max((extent.most for table, extent in extents.items() if Table(table) in REGISTER_TABLES), default=2)
    wide = max(point.words for point in points.values())
    return Profile(
        profile=name,
        maker="unknown",
        model="unknown",
        cite=cite,
        word_order=WordOrder.ABCD,
        max_registers=min(125, max(most, wide)),
        holes_ok=False,
        min_gap_s=min_gap_s,
        connections=1,
        points=points,
        expiries={},
        outputs={},
        identity=None,
        functions=tuple(sorted({_READS[point.table] for point in points.values()})),
    )


def _unknown(table: Table, address: int, cite: str) -> Point:
    sure = number_hint(table, address) is not None
    about = f"{cite}: answers; meaning unknown"
    if table not in REGISTER_TABLES:
        return Point(
            table=table,
            address=address,
            address_is_wire=sure,
            type=PointType.BIT,
            invert=False,
            verified=Verified.NONE,
            cite=about,
        )
    return Point(
        table=table,
        address=address,
        address_is_wire=sure,
        type=PointType.U16,
        scale=1.0,
        raw_unit=Unit.NONE,
        unit=Unit.NONE,
        range=(0.0, 65535.0),
        verified=Verified.NONE,
        cite=about,
    )


def _found(guess: Guess, cite: str) -> Point:
    scale = dict(SCALES)[guess.fits[0]]
    low, high = LIMITS.get(guess.type, (-_WIDE / scale, _WIDE / scale))
    return Point(
        table=Table(guess.table),
        address=guess.address,
        address_is_wire=number_hint(Table(guess.table), guess.address) is not None,
        type=guess.type,
        word_order=guess.order,
        scale=scale,
        raw_unit=Unit.NONE,
        unit=Unit.NONE,
        range=(low * scale, high * scale),
        verified=Verified.NONE,
        cite=f"{cite}: read what was expected; state its unit and range",
    )


def dumped(profile: Profile, head: str) -> str:
    """Return a profile as YAML that loads as the same profile; ``head`` is the comment above it."""
    lines = [f"# {line}" for line in head.splitlines()]
    for key, value in profile.model_dump(mode="json", exclude_defaults=True).items():
        if key in {"points", "conflicts"} and value:
            lines += [f"{key}:", *(f"  {name}: {json.dumps(one)}" for name, one in value.items())]
        else:
            lines.append(f"{key}: {json.dumps(value)}")
    return "\n".join(lines) + "\n"

"""What a believable reading must also do: agree with its two neighbours, move when it must, stay between 4 and 20 mA."""

from collections.abc import Mapping
from dataclasses import dataclass

from fieldkit.frozen import replace

RETURNS = ("TT-102A", "TT-102B", "TT-102C")
OFF_K, OFF_S = 1.0, 30.0
"""A return temperature further from the median than this for so long is dropped."""
BACK_K, BACK_S = 0.5, 60.0
"""A dropped one comes back after so long this near to the others."""
STILL_S = 120.0
NE43_LOW_MA, NE43_HIGH_MA, NE43_S = 3.6, 21.0, 4.0


@dataclass(frozen=True)  # no slots, see fieldkit.frozen
class Returns:
    """The three return temperatures: how long each has been off (or, dropped, back again), and which is dropped."""

    for_s: tuple[float, float, float] = (0.0, 0.0, 0.0)
    dropped: int | None = None
    apart: bool = False
    """Two are left and differ by more than 1 K; which of them is right cannot be told."""
    apart_s: float = 0.0
    value_c: float | None = None
    """What to go by: the median of three, the hotter of two, the one that is left."""


def vote(state: Returns, values: tuple[float | None, float | None, float | None], dt_s: float) -> Returns:
    """Return the state after readings in °C; None where one cannot be believed.

    At most one is dropped: of the two that are left the hotter is taken, and no third opinion says which is wrong.
    """
    state = _vote(state, values, dt_s)
    left = _left(values, state.dropped)
    apart_s = state.apart_s + dt_s if len(left) == 2 and abs(left[0] - left[1]) > OFF_K else 0.0
    return replace(state, apart_s=min(apart_s, OFF_S), apart=apart_s >= OFF_S, value_c=_one(left))


def voted(values: tuple[float | None, float | None, float | None], dropped: int | None) -> float | None:
    """What to go by, with one of the three dropped: the median of three, the hotter of two, the one that is left."""
    return _one(_left(values, dropped))


def _left(values: tuple[float | None, float | None, float | None], dropped: int | None) -> list[float]:
    left = [value for i, value in enumerate(values) if value is not None and i != dropped]
    return left or [value for value in values if value is not None]  # rather the dropped one than none


def _one(left: list[float]) -> float | None:
    return None if not left else sorted(left)[1] if len(left) == 3 else max(left)


def _vote(state: Returns, values: tuple[float | None, float | None, float | None], dt_s: float) -> Returns:
    a, b, c = values
    if a is None or b is None or c is None:  # two cannot outvote anybody, but who was dropped stays so
        return replace(state, for_s=(0.0, 0.0, 0.0))
    median_c = sorted((a, b, c))[1]
    if state.dropped is not None:
        others = [value for i, value in enumerate((a, b, c)) if i != state.dropped]
        near = min(others) - BACK_K <= (a, b, c)[state.dropped] <= max(others) + BACK_K
        back_s = state.for_s[state.dropped] + dt_s if near else 0.0
        if back_s >= BACK_S:
            return replace(state, for_s=(0.0, 0.0, 0.0), dropped=None)
        return replace(state, for_s=_only(state.dropped, back_s))
    off_k = (abs(a - median_c), abs(b - median_c), abs(c - median_c))
    x, y, z = (held + dt_s if off > OFF_K else 0.0 for held, off in zip(state.for_s, off_k, strict=True))
    due = [i for i, held in enumerate((x, y, z)) if held >= OFF_S]
    if due:
        return replace(state, for_s=(0.0, 0.0, 0.0), dropped=max(due, key=off_k.__getitem__))
    return replace(state, for_s=(x, y, z))


def _only(index: int, value: float) -> tuple[float, float, float]:
    return (value if index == 0 else 0.0, value if index == 1 else 0.0, value if index == 2 else 0.0)


@dataclass(frozen=True, slots=True)
class Mover:
    """One row of what must move with what.

    tag      must change by more than ``lsb`` within 120 s once ``driver`` has changed by ``least`` (both in their units)
    """

    tag: str
    lsb: float
    driver: str
    least: float


@dataclass(frozen=True, slots=True)
class Still:
    """One tag's last movement: its value and its driver's then, and for how long it should have moved since."""

    value: float
    driver: float
    must_s: float = 0.0

    @property
    def stuck(self) -> bool:
        return self.must_s >= STILL_S


def watch(
    known: Mapping[str, Still], rows: tuple[Mover, ...], values: Mapping[str, float | None], dt_s: float
) -> dict[str, Still]:
    """Return the state after ``values``; a row of which either value cannot be believed waits as it was."""
    out = dict(known)
    for row in rows:
        value, driver = values.get(row.tag), values.get(row.driver)
        if value is None or driver is None:
            continue
        was = known.get(row.tag)
        if was is None or abs(value - was.value) > row.lsb:
            out[row.tag] = Still(value, driver)
        elif abs(driver - was.driver) >= row.least:
            out[row.tag] = replace(was, must_s=min(was.must_s + dt_s, STILL_S))
        # A driver that went back leaves the time standing: the tag should have moved there and back.
    return out


def burnt_out_s(held_s: float, milliamp: float, dt_s: float) -> float:
    """How long a 4..20 mA loop has been outside 3.6..21 mA (NAMUR NE43); from 4 s on it is a fault, not a value."""
    if NE43_LOW_MA < milliamp < NE43_HIGH_MA:
        return 0.0
    return min(held_s + dt_s, NE43_S)

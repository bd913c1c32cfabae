"""One stroke of one valve, open and shut again, as its coil and limit switches tell it."""

from dataclasses import dataclass
from itertools import pairwise

from bench.hil.file import COILS, SWITCHES
from bench.hil.stand import Rack

DRY_S = 1.5
"""A drain or vent valve has no switch for open: it is held so much longer than its stroke."""


@dataclass(frozen=True, slots=True)
class Strokes:
    """What was seen; seconds in the rack's time.

    both    samples in which both of its switches were made
    ends    the values of its switch for shut, and then of that for open, in their order
    others  switches of other valves that moved meanwhile
    """

    opened_s: float | None
    shut_s: float
    both: int
    ends: list[float]
    others: list[str]


def strokes(rack: Rack, valve: str) -> Strokes:
    """Open a valve of an isolated rack by hand and shut it again, once a rack. Raises WatchError, LinkError."""
    if valve not in rack.strokes:
        rack.strokes[valve] = _strokes(rack, valve)
    found: Strokes = rack.strokes[valve]
    return found


def _strokes(rack: Rack, valve: str) -> Strokes:
    declared, (opened, shut) = rack.bench.data.valves[valve], SWITCHES[valve]
    travel_s = (declared.open_s or 2.0 * declared.shut_s) + declared.tolerance_s + DRY_S
    begun_s, coil = rack.watch.now_s(), COILS[valve]
    names = [name for pair in SWITCHES.values() for name in pair if name in rack.config.data.tags and name is not None]
    before = {name: rack.watch.latest(name).value for name in names}  # the next scan may find it moved already
    rack.move(valve, 1.0, travel_s)
    energised_s = rack.wait_for(coil, 1.0, begun_s, 1.0)
    arrived_s = None if opened is None else rack.wait_for(opened, 1.0, energised_s, 1.0)
    down_s = rack.watch.now_s()
    rack.move(valve, 0.0, declared.shut_s + declared.tolerance_s + DRY_S)
    dropped_s = rack.wait_for(coil, 0.0, down_s, 1.0)
    landed_s = rack.wait_for(shut, 1.0, dropped_s, 1.0)
    known = {name: [before[name], *(one.value for one in rack.watch.since(name, begun_s))] for name in names}
    own = [name for name in (shut, opened) if name is not None]
    made = [] if opened is None else zip(known[shut], known[opened], strict=False)
    return Strokes(
        None if arrived_s is None else rack.seconds(energised_s, arrived_s),
        rack.seconds(dropped_s, landed_s),
        sum(a == b == 1.0 for a, b in made),
        [value for name in own for value in _order(known[name])],
        [name for name, values in known.items() if name not in own and len(set(values)) > 1],
    )


def _order(values: list[float | None]) -> list[float]:
    """Return the values that a switch took after its first, each once in a row."""
    good = [value for value in values if value is not None]
    return [after for before, after in pairwise(good) if after != before]

"""The ladder of times: which must end before which, and how long each safety function takes from cause to effect.

Numbers are SAFETY.md's; where a rack states its own, they are the rack's.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from valvey.config_rack import RackConfig
from valvey.core.limits import Limits
from valvey.core.memory import Effect
from valvey.core.trips import Trip, rows_for
from valvey.lines import plan_of
from valvey.needs import senses_of

PST_KJ = 2300.0
"""Heat that the coolant in a rack takes before it is too hot, without flow (est.)."""
PST_SHARE = 0.5
PERMIT_SHARE = 0.85
FAST_SCAN_MOST_S = 0.05
FAST_TIMEOUT_MOST_S = 0.3
FLOW_LAG_MOST_S = 2.0
LAG_FACTOR = 1.4
"""ln 4: a first-order sensor has followed three quarters of a step by then."""
RELAY_S = 0.1
PERMIT_DROP_S = 0.2
RESTART_S = 6.0
"""From the last write before a crash to the first after it: watchdog 2 s, abort, restart, adoption."""
PERMIT_FIRST_S = 3.0
"""The permit lapses by so much before the valves do."""
BLIND_DARK_MOST_S = 6.0
"""With every sensor bad, DARK is demanded by then (invariant I6)."""
RETURN_WAIT_S = 0.5
"""The return valve follows the supply valve at its limit, or its stroke and so much later."""

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Rung:
    """One inequality: ``value_s`` must be at most (or, when ``below``, less than) ``limit_s``.

    inputs  paths of the rack's file that it is worked out from; a fault is told at the first that the file states
    """

    name: str
    value_s: float
    limit_s: float
    below: bool
    because: str
    inputs: tuple[Path, ...]

    @property
    def holds(self) -> bool:
        return self.value_s < self.limit_s if self.below else self.value_s <= self.limit_s + 1e-9


@dataclass(frozen=True, slots=True)
class Response:
    """One line of the response-time sheet, in seconds: from the cause at the sensor to the effect in the field.

    act_s    relay or strokes
    limit_s  None where the design states no limit
    """

    row: str
    title: str
    effect: str
    lag_s: float
    delay_s: float
    scan_s: float
    hold_s: float
    write_s: float
    act_s: float
    limit_s: float | None

    @property
    def total_s(self) -> float:
        return round(self.lag_s + self.delay_s + self.scan_s + self.hold_s + self.write_s + self.act_s, 6)


def pst_s(rating_kw: float) -> float:
    """Process safety time at a rating: how long a rack without flow stays sound."""
    return PST_KJ / rating_kw


def rungs(config: RackConfig, limits: Limits) -> tuple[Rung, ...]:
    """Return every inequality that can be worked out for this rack."""
    scan, pst = config.data.scan, pst_s(limits.rating_kw)
    by_row = {response.row: response for response in responses(config, limits)}
    rating: Path = ("limits", "rating_kw")
    sif_4: tuple[Path, ...] = (("trips", "SIF-4"), ("tags", "FT-101", "lag_s"), ("tags", "FT-102", "lag_s"), rating)
    out = [
        Rung("fast scan", scan.fast_s, FAST_SCAN_MOST_S, False, "a trip's write leaves in the scan of its verdict", (("scan", "fast_s"),)),
        Rung("SIF-8 alarm before DARK", limits.write_alarm_s, limits.write_dark_s, True, "somebody has to be told first", (("limits", "write_alarm_s"), ("limits", "write_dark_s"))),
        Rung("SIF-4 response", by_row["SIF-4"].total_s, PST_SHARE * pst, False, f"half of the process safety time, {pst:.3g} s at the rating", sif_4),
        Rung("SIF-4 blind response", by_row["SIF-4 blind"].total_s, PST_SHARE * pst, False, f"half of the process safety time, {pst:.3g} s at the rating", (("trips", "SIF-4", "blind_s"), rating)),
        Rung("DARK with every sensor bad", by_row["SIF-4 blind"].lag_s + by_row["SIF-4 blind"].hold_s, BLIND_DARK_MOST_S, False, "invariant I6", (("trips", "SIF-4", "blind_s"),)),
    ]  # fmt: skip
    for tag in ("FT-101", "FT-102"):
        if (place := config.data.tags.get(tag)) is not None and place.lag_s is not None:
            out.append(
                Rung(f"{tag} lag", place.lag_s, FLOW_LAG_MOST_S, False, "SIF-4 waits for it", (("tags", tag, "lag_s"),))
            )
    permit_s, valves_s = config.permit_expiry_s, config.valves_expiry_s
    permit: tuple[Path, ...] = (("expiries", "permit_s"), ("tags", "XS-101"))
    valves: tuple[Path, ...] = (("expiries", "valves_s"), ("tags", "XV-101"))
    if permit_s is not None:
        out.append(
            Rung(
                "restart before permit expiry",
                RESTART_S,
                permit_s,
                True,
                "a crash that heals must not drop the permit",
                permit,
            )
        )
        out.append(
            Rung(
                "permit expiry within safety time",
                permit_s + PERMIT_DROP_S,
                PERMIT_SHARE * pst,
                False,
                f"0.85 of the process safety time, {pst:.3g} s at the rating",
                (*permit[:1], rating),
            )
        )
    if valves_s is not None:
        out.append(
            Rung(
                "SIF-8 before valve expiry",
                limits.write_dark_s,
                valves_s - PERMIT_FIRST_S,
                True,
                "the rack is dark before its valves lapse shut",
                (("limits", "write_dark_s"), *valves),
            )
        )
        if permit_s is not None:
            out.append(
                Rung(
                    "permit expiry before valve expiry",
                    permit_s,
                    valves_s - PERMIT_FIRST_S,
                    True,
                    "the permit always lapses first",
                    (*permit, *valves),
                )
            )
    return tuple(out)


def responses(config: RackConfig, limits: Limits) -> tuple[Response, ...]:
    """Return the response-time sheet: each row that acts, and each that acts when blind."""
    out = []
    for row in rows_for(limits):
        if row.effect is not Effect.NONE and not row.cap and not row.shadow:
            lag_s, delay_s, lane_s = _senses(config, row, limits)
            out.append(
                _response(
                    config,
                    limits,
                    row,
                    row.key,
                    row.effect,
                    (LAG_FACTOR * lag_s, delay_s, lane_s, _hold_s(row, limits)),
                )
            )
        if row.blind_effect is not None:
            timing = limits.timing.get(row.key)
            blind_s = (timing and timing.blind_s) or row.blind_s or 0.0
            age_s = max((config.max_age_s(tag) for tag in _tags(config, row, limits)), default=limits.default_max_age_s)
            name = row.key if row.effect is Effect.NONE else f"{row.key} blind"
            out.append(_response(config, limits, row, name, row.blind_effect, (age_s, 0.0, 0.0, blind_s)))
    return tuple(out)


def _response(
    config: RackConfig, limits: Limits, row: Trip, name: str, effect: Effect, parts: tuple[float, float, float, float]
) -> Response:
    lag_s, delay_s, lane_s, hold_s = parts
    limit_s = PST_SHARE * pst_s(limits.rating_kw) if name in {"SIF-4", "SIF-4 blind"} else None
    if row.sif == "SIF-8" and config.valves_expiry_s is not None:
        limit_s = config.valves_expiry_s - PERMIT_FIRST_S
    act_s = {
        Effect.NONE: 0.0,
        Effect.DARK: RELAY_S,
        Effect.ISOLATE: limits.stroke_101_s + RETURN_WAIT_S + limits.stroke_102_s,
        Effect.ESD: max(limits.stroke_101_s, limits.stroke_102_s),
    }[effect]
    write_s = _write_s(config)
    lag_s, hold_s, scan_s = round(lag_s, 6), round(hold_s, 6), round(lane_s + config.data.scan.fast_s, 6)
    limit_s = None if limit_s is None else round(limit_s, 6)
    return Response(name, row.title, str(effect), lag_s, delay_s, scan_s, hold_s, write_s, act_s, limit_s)


def _hold_s(row: Trip, limits: Limits) -> float:
    if row.sif == "SIF-8":
        return limits.write_dark_s
    timing = limits.timing.get(row.key)
    hold_s = row.hold_s if timing is None else timing.hold_s
    if row.key == "SIF-4":  # follows the load; at the rating it is shortest
        by_load_s = min(3.0, max(1.0, 230.0 / limits.rating_kw))
        return by_load_s if timing is None else min(hold_s, by_load_s)
    return hold_s


def _tags(config: RackConfig, row: Trip, limits: Limits) -> tuple[str, ...]:
    return tuple(tag for tag in senses_of(row, limits.policy) if tag in config.data.tags)


def _senses(config: RackConfig, row: Trip, limits: Limits) -> tuple[float, float, float]:
    """Return the greatest lag, device delay and lane period among the tags that the row senses."""
    places = [(tag, config.data.tags[tag]) for tag in _tags(config, row, limits)]
    lag_s = max((place.lag_s or 0.0 for _, place in places), default=0.0)
    delay_s = max((place.delay_s or 0.0 for _, place in places), default=0.0)
    lane_s = max((config.period_s(tag) + _line_s(config, tag) for tag, _ in places), default=0.0)
    return lag_s, delay_s, lane_s


def _line_s(config: RackConfig, tag: str) -> float:
    """On a serial line a value waits for one turn of all that is asked before it; elsewhere for nothing to speak of."""
    line = plan_of(config, config.data.tags[tag].bus)
    return 0.0 if line is None else line.cycle_s(config.data.tags[tag].lane or "fast")


def _write_s(config: RackConfig) -> float:
    """The longest that a write can be under way and still be acknowledged; on a serial line one frame goes before it."""
    buses: Iterable[str] = {place.bus for place in config.outputs.values()}
    out_s = [0.0]
    for bus in buses:
        if bus in config.data.buses:
            line = plan_of(config, bus)
            out_s.append(config.data.buses[bus].timeout_s + (0.0 if line is None else line.longest_s))
    return round(max(out_s), 6)

"""The rack's branch as the flow control sees it: FCV-101 in series with everything else between the headers. Pure.

Two things about a branch are known badly: Kv of everything but the valve, within 30 %, and how far the valve stands off
its characteristic. At one operating point they cannot be told apart, at two they can; a Kalman filter of two states
does just that. It compares the meter with what the model gives for the position and the pressure difference as old as the
reading, so it learns while the valve moves, and a valve that lags, sticks or stands at its end winds nothing up.
"""

from math import exp, log, sqrt

from fieldkit.frozen import replace
from valvey.core.flow_state import Header, Learned, Seen, Source, Tuning

#: Specific gravity of PG25 at 40 °C.
SG = 1.0145
LPM_PER_M3_H = 1000.0 / 60.0
KPA_PER_BAR = 100.0
#: Travel below which an equal-percentage valve is linear, percent.
KNEE_PCT = 5.0

#: Pressure differences below this are no header in operation, kPa.
LEAST_KPA = 2.0
#: The longest time that one scan may count for; a longer gap is a gap.
LONGEST_S = 2.0
#: Share of the meter's lag that its own data sheet leaves open.
LAG_DOUBT = 0.5
#: An error of the lag stays the same for about as long, so that readings within it count as one.
SLEW_S = 2.0
#: One reading is never believed to be further off the model than this, ln.
CLIP = 0.1
#: Filter of a pressure difference that was worked out, not measured.
WORKED_OUT_S = 2.0
#: How far ahead a measured pressure difference is looked: dead times and the drive's dead band; and the age of its trend.
TREND_S = 1.0
AHEAD = 1.5
#: A pressure difference this near to that of a second ago stands still: four times the noise of its transmitters.
SHIVER = 0.012
MISFIT_S = 10.0
#: The valve stands still when it is no further than this from where it was, percent.
STILL_PCT = 0.25
#: Kv between the rack's own pressure taps is learned this slowly.
RACK_S = 60.0


def toward(value: float, target: float, tau_s: float, dt_s: float) -> float:
    """``value`` after ``dt_s`` of a first-order lag."""
    return value + (target - value) * (1.0 - exp(-dt_s / tau_s))


def valve_kv(position_pct: float, tuning: Tuning) -> float:
    """Kv of FCV-101 at this opening."""
    bent = min(100.0, max(position_pct, KNEE_PCT))
    kv = tuning.kvs_m3_h * exp((bent / 100.0 - 1.0) * log(tuning.rangeability))
    return kv * min(1.0, max(position_pct, 0.0) / KNEE_PCT)


def opening_pct(kv_m3_h: float, tuning: Tuning) -> float:
    """Opening at which FCV-101 has this Kv; above 100 for more than it has wide open."""
    knees = max(kv_m3_h, 0.0) / valve_kv(KNEE_PCT, tuning)
    return KNEE_PCT * min(1.0, knees) + 100.0 * log(max(1.0, knees)) / log(tuning.rangeability)


def in_series(valve: float, rest: float) -> float:
    """Kv of two in a row, both above 0."""
    return valve / sqrt(1.0 + (valve / rest) ** 2)


def flow_lpm(kv_m3_h: float, dp_kpa: float) -> float:
    """Flow through ``kv_m3_h``."""
    return LPM_PER_M3_H * kv_m3_h * sqrt(max(dp_kpa, 0.0) / KPA_PER_BAR / SG)


def dp_for(flow: float, kv_m3_h: float) -> float:
    """Pressure difference, kPa, that drives ``flow`` L/min through ``kv_m3_h``."""
    return SG * KPA_PER_BAR * (flow / LPM_PER_M3_H / kv_m3_h) ** 2


def opening_for(flow: float, dp_kpa: float, learned: Learned, tuning: Tuning) -> float | None:
    """Opening that lets ``flow`` L/min pass; None when the header cannot drive it through a valve wide open."""
    branch = flow / flow_lpm(1.0, dp_kpa)
    share = (branch / learned.kv_rest_m3_h) ** 2
    if share >= 1.0:
        return None
    opening = opening_pct(branch / sqrt(1.0 - share), tuning) + learned.bias_pct
    return opening if opening <= 100.0 else None


def slewing(command_pct: float, seen: Seen, tuning: Tuning) -> bool:
    """Whether the valve is on its way, or nobody can tell."""
    return seen.position_pct is None or abs(seen.position_pct - command_pct) > tuning.slew_band_pct


def dp_ahead_kpa(header: Header) -> float | None:
    """The pressure difference as it will be when the valve gets there.

    One that moves is taken to go on moving; one that only shivers is averaged, because a valve almost open must travel
    far for little.
    """
    if header.dp_kpa is None or header.slow_kpa is None:
        return header.dp_kpa
    trend_kpa = header.dp_kpa - header.slow_kpa
    if abs(trend_kpa) <= SHIVER * header.slow_kpa:
        return header.slow_kpa
    return max(0.5 * header.dp_kpa, header.dp_kpa + AHEAD * trend_kpa)


def observe(
    header: Header, learned: Learned, seen: Seen, tuning: Tuning, dt_s: float, gain: float
) -> tuple[Header, Learned]:
    """Return what this scan's measurements say about the header and the branch.

    gain   share of a reading's weight in what is learned
    """
    dp, source, slow_kpa = _difference(header, learned, seen, tuning, dt_s)
    position, flow = seen.position_pct, seen.flow_lpm
    if position is None or dp is None:
        return Header(dp, source, slow_kpa), learned
    dead = _lag(header.dead, (position, dp), tuning.meter_dead_s, dt_s)
    lag = _lag(header.lag, dead, tuning.meter_lag_s, dt_s)
    header = Header(dp, source, slow_kpa, dead, lag)
    if flow is None or flow <= 0.0:
        return header, learned
    kv_rack = learned.kv_rack_m3_h
    if seen.rack_kpa is not None and seen.rack_kpa >= LEAST_KPA and abs(position - lag[0]) < STILL_PCT:
        found = flow / flow_lpm(1.0, seen.rack_kpa)
        kv_rack = found if kv_rack is None else toward(kv_rack, found, RACK_S, dt_s)
    if source is Source.HEADER:
        return header, _learn(learned, kv_rack, flow, (position, dp), lag, tuning, dt_s, gain)
    return header, learned if kv_rack is learned.kv_rack_m3_h else replace(learned, kv_rack_m3_h=kv_rack)


def _lag(old: tuple[float, float] | None, new: tuple[float, float], tau_s: float, dt_s: float) -> tuple[float, float]:
    """Position and pressure difference after a first-order lag; they begin where they are."""
    if old is None or tau_s <= 0.0:
        return new
    share = 1.0 - exp(-dt_s / tau_s)
    return old[0] + (new[0] - old[0]) * share, old[1] + (new[1] - old[1]) * share


def _difference(
    header: Header, learned: Learned, seen: Seen, tuning: Tuning, dt_s: float
) -> tuple[float | None, Source, float | None]:
    """Return the pressure difference between the headers, its source, and the measured one of a second ago.

    Not measured, it is worked out from the flow and the position: the opening asked for is then right for the flow that
    the meter, or the rack's own pressure difference, tells, whatever the model is wrong by.
    """
    measured, old = seen.header_kpa, header.dp_kpa
    if measured is not None and measured >= LEAST_KPA:
        return (
            measured,
            Source.HEADER,
            measured if header.slow_kpa is None else toward(header.slow_kpa, measured, TREND_S, dt_s),
        )
    source, position = Source.RACK, seen.position_pct
    flow = None
    if seen.rack_kpa is not None and seen.rack_kpa >= LEAST_KPA and learned.kv_rack_m3_h is not None:
        flow = flow_lpm(learned.kv_rack_m3_h, seen.rack_kpa)
    elif seen.flow_lpm is not None and seen.flow_lpm > 0.0:
        source, flow = Source.METER, seen.flow_lpm
        position = position if header.lag is None else header.lag[0]
    if position is None or flow is None or position - learned.bias_pct < KNEE_PCT:
        return old, Source.HELD, None
    kv = in_series(valve_kv(position - learned.bias_pct, tuning), learned.kv_rest_m3_h)
    found = dp_for(flow, kv)
    return found if old is None else toward(old, found, WORKED_OUT_S, dt_s), source, None


def _learn(
    learned: Learned,
    kv_rack: float | None,
    flow: float,
    now: tuple[float, float],
    then: tuple[float, float],
    tuning: Tuning,
    dt_s: float,
    gain: float,
) -> Learned:
    """Return what is known after one more reading of the meter. ``now``, ``then``: position, pressure difference."""
    dt_s = min(dt_s, LONGEST_S)
    valve = valve_kv(then[0] - learned.bias_pct, tuning)
    if dt_s <= 0.0 or then[0] - learned.bias_pct < KNEE_PCT:
        return replace(learned, kv_rack_m3_h=kv_rack)
    kv = in_series(valve, learned.kv_rest_m3_h)
    share = (kv / learned.kv_rest_m3_h) ** 2  # of the pressure difference that the rest takes
    error = log(flow / flow_lpm(kv, then[1]))
    at_rest = in_series(valve_kv(now[0] - learned.bias_pct, tuning), learned.kv_rest_m3_h)
    moved = abs(log(flow_lpm(at_rest, now[1]) / flow_lpm(kv, then[1])))
    # what a change of ln Kv_rest, and of the bias by 1 %, does to ln flow
    by_kv, by_bias = share, -(1.0 - share) * log(tuning.rangeability) / 100.0
    kv_var, both_var, bias_var = _forget(learned, tuning, dt_s)
    # readings a second apart are taken as independent
    doubt = (tuning.meter_noise**2 + SLEW_S * (LAG_DOUBT * moved) ** 2) / dt_s
    to_kv, to_bias = kv_var * by_kv + both_var * by_bias, both_var * by_kv + bias_var * by_bias
    total = by_kv * to_kv + by_bias * to_bias + doubt
    step = gain * min(CLIP, max(-CLIP, error)) / total
    kv_ln = log(learned.kv_rest_m3_h / tuning.kv_rest_m3_h) + to_kv * step
    most = log(tuning.kv_bound)
    misfit = toward(learned.misfit, error if moved < tuning.meter_noise else 0.0, MISFIT_S, dt_s)
    kv_rest = tuning.kv_rest_m3_h * exp(min(most, max(-most, kv_ln)))
    bias_pct = min(tuning.bias_most_pct, max(-tuning.bias_most_pct, learned.bias_pct + to_bias * step))
    if abs(misfit) > tuning.misfit_most:
        return unsure(kv_rest, bias_pct, kv_rack, tuning)
    return Learned(
        kv_rest,
        bias_pct,
        kv_var - to_kv * to_kv / total,
        both_var - to_kv * to_bias / total,
        bias_var - to_bias * to_bias / total,
        misfit,
        kv_rack,
    )


def _forget(learned: Learned, tuning: Tuning, dt_s: float) -> tuple[float, float, float]:
    """The variances after ``dt_s``: what was learned grows old, towards what was known at commissioning."""
    keep_kv, keep_bias = exp(-dt_s / tuning.kv_memory_s), exp(-dt_s / tuning.bias_memory_s)
    return (
        tuning.kv_doubt**2 + (learned.kv_var - tuning.kv_doubt**2) * keep_kv,
        learned.both_var * sqrt(keep_kv * keep_bias),
        tuning.bias_doubt_pct**2 + (learned.bias_var - tuning.bias_doubt_pct**2) * keep_bias,
    )


def unsure(kv_rest_m3_h: float, bias_pct: float, kv_rack_m3_h: float | None, tuning: Tuning) -> Learned:
    """These values with the doubt of a rack just commissioned, so that they are learned anew quickly."""
    return Learned(kv_rest_m3_h, bias_pct, tuning.kv_doubt**2, 0.0, tuning.bias_doubt_pct**2, 0.0, kv_rack_m3_h)

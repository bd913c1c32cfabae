"""The statistical mass balance: whether more goes in at FT-101 than comes out at FT-102.

What is judged is the difference as a share of the flow, so that its noise stays the same when the flow changes. One
second's means make one sample. A mean over the last 18 s is compared with 6 times its own deviation, one over the last
5 s with 6.8 times: a leak that sets in at once is best seen by a mean over the time in which it is to be found, better
than by an exponential mean of the same speed, which still carries the noise of before. Both the zero (calibration of
the two meters against each other) and the deviation are learned, and neither learns while something is suspected.

Nothing is judged for 18 s (5 s) after anything that makes the two flows differ without a leak: valves that move, a flow
that changes (the meters lag differently), a load step (the liquid in the rack grows or shrinks with its temperature).

``tick`` is arithmetic and choices by ``Ops``: with `SCALARS` it serves one rack, with numpy as many as the arrays hold.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Any, NamedTuple, Protocol

from fieldkit.coolant import density_kg_m3

LONG_S, SHORT_S = 18, 5
LONG_SIGMAS, SHORT_SIGMAS = 6.0, 6.8
SUSPECT_SIGMAS = 3.0
"""Beyond this nothing is learned, and a standing alarm stays."""
METER_SHARE = 0.005
"""Noise of one flow meter, one sigma of a one-second mean, as a share of the flow: what is assumed before any was seen."""
ASSUMED_VARIANCE = 2.0 * METER_SHARE**2 / LONG_S
LEAST_VARIANCE = (0.0075 / LONG_SIGMAS) ** 2
"""However quiet the meters: nothing below 0.75 % of the flow is called a leak, so that what is left of a load step's swelling
and of the meters' different lags is none."""
SPIKE_SIGMAS = 5.0
"""One sample counts for at most so many of its deviations: a bubble in a meter is no leak."""
ZERO_S, VARIANCE_S = 3600.0, 21600.0
"""Over how long zero and variance are learned."""
WARM_UP_S = 600.0
"""Seconds of learning before the first judgement."""
FLOW_STEP = 0.02
"""Both flows further than this from their 10 s means, as a share of them, the same way: the flow is changing. A leak moves one
of them, or the two apart, and must not hide itself."""
LOAD_STEP = 0.15
"""A load (5 s mean) further from its 30 s mean, as a share of the rating, has stepped."""
RETURN_STEP_K = 1.5
"""A return temperature further from its 10 s mean is changing."""
APART = 0.015
"""A zero beyond this share of the flow is no calibration any more: one of the meters is wrong."""


class Second(NamedTuple):
    """What one second held: means of the readings, all of them good.

    still   both isolation valves open, nothing slewing, enough flow, and every reading good during all of the second
    """

    supply_lpm: float
    return_lpm: float
    supply_c: float
    return_c: float
    load_share: float
    """Load as a share of the rating."""
    still: bool


class Ops(Protocol):
    """The choices that arithmetic lacks. numpy has them by these names; `SCALARS` are the same for single numbers."""

    def where(self, condition: Any, then: Any, otherwise: Any, /) -> Any: ...
    def maximum(self, a: Any, b: Any, /) -> Any: ...
    def minimum(self, a: Any, b: Any, /) -> Any: ...
    def sqrt(self, a: Any, /) -> Any: ...
    def absolute(self, a: Any, /) -> Any: ...


class _Scalars:
    @staticmethod
    def where(condition: Any, then: Any, otherwise: Any, /) -> Any:
        return then if condition else otherwise

    @staticmethod
    def maximum(a: Any, b: Any, /) -> Any:
        return max(a, b)

    @staticmethod
    def minimum(a: Any, b: Any, /) -> Any:
        return min(a, b)

    @staticmethod
    def sqrt(a: Any, /) -> Any:
        return sqrt(a)

    @staticmethod
    def absolute(a: Any, /) -> Any:
        return abs(a)


SCALARS: Ops = _Scalars()


@dataclass(frozen=True, slots=True)
class Balance:
    """What the balance hands from one second to the next. Shares are of the flow.

    window              the last 18 samples, newest first;  long_sum, short_sum  of all of them and of the newest five
    zero, variance      learned: mean difference, and variance of the 18 s mean about it
    learned_s           seconds of learning
    settled_s           seconds since anything moved
    supply_lpm, return_lpm, return_c  10 s means;  load_5, load_30  5 s and 30 s means of the load
    excess_lpm          supply above return over 18 s, zero taken off and spikes cut: a big leak is bigger than this
    leaking             the alarm's condition
    reversed            the same the other way round: no leak does that
    """

    window: tuple[float, ...] = (0.0,) * LONG_S
    long_sum: float = 0.0
    short_sum: float = 0.0
    zero: float = 0.0
    variance: float = ASSUMED_VARIANCE
    learned_s: float = 0.0
    settled_s: float = 0.0
    supply_lpm: float = 0.0
    return_lpm: float = 0.0
    return_c: float = 0.0
    load_5: float = 0.0
    load_30: float = 0.0
    excess_lpm: float = 0.0
    leaking: bool = False
    reversed: bool = False


def tick(balance: Balance, second: Second, ops: Ops = SCALARS) -> Balance:
    """Return the balance after one more second."""
    supply, ret = second.supply_lpm, second.return_lpm
    flow = ops.maximum(0.5 * (supply + ret), 1e-3)
    supply_mean = balance.supply_lpm + (supply - balance.supply_lpm) * 0.1
    return_flow_mean = balance.return_lpm + (ret - balance.return_lpm) * 0.1
    return_mean = balance.return_c + (second.return_c - balance.return_c) * 0.1
    load_5 = balance.load_5 + (second.load_share - balance.load_5) * 0.2
    load_30 = balance.load_30 + (second.load_share - balance.load_30) / 30.0
    calm = (
        second.still
        & (ops.minimum(supply - supply_mean * (1.0 + FLOW_STEP), ret - return_flow_mean * (1.0 + FLOW_STEP)) <= 0.0)
        & (ops.maximum(supply - supply_mean * (1.0 - FLOW_STEP), ret - return_flow_mean * (1.0 - FLOW_STEP)) >= 0.0)
        & (ops.absolute(second.return_c - return_mean) <= RETURN_STEP_K)
        & (ops.absolute(load_5 - load_30) <= LOAD_STEP)
    )
    settled_s = ops.where(calm, balance.settled_s + 1.0, 0.0)

    sigma = ops.sqrt(ops.maximum(balance.variance, LEAST_VARIANCE))
    most = SPIKE_SIGMAS * LONG_S**0.5 * sigma
    # Both as volume at the supply's temperature.
    share = (supply - ret * density_kg_m3(second.return_c) / density_kg_m3(second.supply_c)) / flow
    share = ops.minimum(ops.maximum(share, balance.zero - most), balance.zero + most)
    long_sum = balance.long_sum + share - balance.window[-1]
    short_sum = balance.short_sum + share - balance.window[SHORT_S - 1]
    window = (share, *balance.window[:-1])

    excess = long_sum / LONG_S - balance.zero
    known = settled_s >= LONG_S
    warm = balance.learned_s >= WARM_UP_S
    short_sigma = sigma * (LONG_S / SHORT_S) ** 0.5
    over_long = known & (excess > LONG_SIGMAS * sigma)
    over_short = (settled_s >= SHORT_S) & (short_sum / SHORT_S - balance.zero > SHORT_SIGMAS * short_sigma)
    over = warm & (over_long | over_short)
    leaking = ops.where(known & (excess <= SUSPECT_SIGMAS * sigma), over, over | balance.leaking)
    under = warm & known & (excess < -LONG_SIGMAS * sigma)
    reverse = ops.where(known & (excess >= -SUSPECT_SIGMAS * sigma), under, under | balance.reversed)

    learning = known & ((ops.absolute(excess) <= SUSPECT_SIGMAS * sigma) | (balance.learned_s < WARM_UP_S))
    learned_s = ops.where(learning, balance.learned_s + 1.0, balance.learned_s)
    gain = 1.0 / ops.minimum(learned_s + 1.0, ZERO_S)
    zero = ops.where(learning, balance.zero + (share - balance.zero) * gain, balance.zero)
    spread = balance.variance + (excess * excess - balance.variance) / ops.minimum(learned_s + ZERO_S, VARIANCE_S)
    variance = ops.where(learning & warm, spread, balance.variance)
    return Balance(
        window,
        long_sum,
        short_sum,
        zero,
        variance,
        learned_s,
        settled_s,
        supply_mean,
        return_flow_mean,
        return_mean,
        load_5,
        load_30,
        excess * supply_mean,
        leaking,
        reverse,
    )


def threshold_lpm(balance: Balance) -> float:
    """The smallest lasting leak that is found at the present flow, L/min."""
    return LONG_SIGMAS * sqrt(max(balance.variance, LEAST_VARIANCE)) * balance.supply_lpm


def meters_apart(balance: Balance) -> bool:
    """One of the two meters is wrong: more comes out than goes in, or the learned zero is no calibration any more."""
    return balance.reversed or abs(balance.zero) > APART

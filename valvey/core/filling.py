"""Filling, step by step: crack the supply, bleed until the vent passes calm liquid, top up. Conditions only."""

from valvey.core.gate import FILLING_MAX_PCT
from valvey.core.view import View
from valvey.core.working import MOST_SHARE, Fail, highest_kpa, pressure_lost, work_of

#: Less than this is no flow.
LEAST_LPM = 1.0
#: Standard deviation of the flow by its mean, below which no air comes along any more.
CALM_SHARE = 0.05
#: What passes the vent once the rack is full, by its volume: so much is enough, and so much is too much.
TOP_SHARE = 0.05
OVER_SHARE = 0.10
#: The loop's static pressure stays so far above the limit at which its racks go dark.
LOOP_MARGIN_KPA = 20.0
LOST_S = 2.0


def cracked(view: View) -> bool:
    return view.on("ZSO-101") is True and view.on("ZSC-104") is False and flows(view)


def flows(view: View) -> bool:
    flow = view.number("FT-101")
    return flow is not None and flow >= LEAST_LPM


def full(view: View) -> bool:
    """The vent passes liquid: it holds a pressure that it does not hold against gas."""
    kpa = highest_kpa(view)
    return kpa is not None and kpa >= view.limits.full_kpa


def bled(view: View) -> bool:
    noise = work_of(view).noise
    return full(view) and flows(view) and noise is not None and noise < CALM_SHARE


def topped(view: View) -> bool:
    return full(view) and flows(view) and (work_of(view).over_l >= TOP_SHARE * view.limits.volume_l or _at_most(view))


def _at_most(view: View) -> bool:
    return work_of(view).litres >= MOST_SHARE * view.limits.volume_l


def air_left(view: View) -> bool:
    over = work_of(view).over_l >= OVER_SHARE * view.limits.volume_l
    return full(view) and flows(view) and not bled(view) and (over or _at_most(view))


def overfull(view: View) -> bool:
    return not full(view) and _at_most(view)


def throttle_wrong(view: View) -> bool:
    position = view.number("ZT-101")
    return position is None or position > FILLING_MAX_PCT + view.limits.fcv_band_pct


def return_open(view: View) -> bool:
    return view.on("ZSC-102") is not True


def meter_lost(view: View) -> bool:
    return view.number("FT-101") is None


def sump_high(view: View) -> bool:
    return view.on("LSH-203") is True


def loop_low(view: View) -> bool:
    ret = view.number("PT-202")
    return ret is not None and ret < view.limits.static_ll_kpa + LOOP_MARGIN_KPA


def vent_shut(view: View) -> bool:
    return view.on("ZSC-104") is True


def vent_blocked(view: View) -> bool:
    return full(view) and not flows(view)


CRACK_FAILS = (
    Fail("return_open", return_open, lambda _limits: 1.0),
    Fail("throttle", throttle_wrong, lambda _limits: LOST_S),
    Fail("meter_lost", meter_lost, lambda _limits: LOST_S),
    Fail("pressure_lost", pressure_lost, lambda _limits: LOST_S),
    Fail("sump_high", sump_high),
    Fail("loop_low", loop_low, lambda _limits: 1.0),
)
TOP_FAILS = (
    *CRACK_FAILS,
    Fail("vent_shut", vent_shut, lambda _limits: 1.0),
    Fail("vent_blocked", vent_blocked, lambda _limits: 10.0),
    Fail("overfull", overfull),
)
BLEED_FAILS = (*TOP_FAILS, Fail("air", air_left))

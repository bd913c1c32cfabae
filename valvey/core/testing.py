"""The test of a full rack: it holds its pressure, and each isolation valve makes its full stroke. Conditions only."""

from valvey.core.plant_signs import STIFFEST_KPA_K
from valvey.core.view import View
from valvey.core.working import Fail, marked_s, pressure_lost, settled_under_relief, work_of

#: A sensor may be lost for so long.
LOST_S = 2.0
CELSIUS_LOST_S = 5.0
#: So long the pressure may stay below what can be tested with.
NO_PRESSURE_S = 10.0
#: So long the pressure is watched again after XV-102's stroke. The hold may have begun at CV-102's opening pressure, where
#: what XV-101 lets pass leaves as fast; now the rack stands at the return header's, and it shows.
REST_S = 30.0


def settled(view: View) -> bool:
    """Both valves proven shut after a fill, nothing flows, and CV-102 has let go of what was too much."""
    return view.shut_proven() and view.flow_stopped() and settled_under_relief(view)


def held(view: View) -> bool:
    return marked_s(view) >= view.limits.test_hold_s


def _changes(view: View) -> list[float]:
    """Rise of each pressure since the hold began, less what the temperature explains at the stiffest."""
    work = work_of(view)
    if work.mark_s is None or work.mark_c is None or work.celsius is None:
        return []
    explained = STIFFEST_KPA_K * abs(work.celsius - work.mark_c)
    rises = [
        now - began for now, began in zip(work.kpa, work.mark_kpa, strict=True) if now is not None and began is not None
    ]
    return [rise - explained if rise > 0.0 else min(0.0, rise + explained) for rise in rises]


def decayed(view: View) -> bool:
    return any(change < -view.limits.test_decay_kpa for change in _changes(view))


def rising(view: View) -> bool:
    return any(change > view.limits.test_decay_kpa for change in _changes(view))


def no_pressure(view: View) -> bool:
    """Either pressure below the loop's own limit: a rack that holds nothing proves nothing."""
    return any(kpa is not None and kpa < view.limits.static_ll_kpa for kpa in work_of(view).kpa)


def temperature_lost(view: View) -> bool:
    return view.number("TT-101") is None or view.return_c() is None


def opened_101(view: View) -> bool:
    return view.on("ZSO-101") is True and view.on("ZSC-101") is False


def shut_101(view: View) -> bool:
    return view.on("ZSC-101") is True and view.on("ZSO-101") is False


def opened_102(view: View) -> bool:
    return view.on("ZSO-102") is True and view.on("ZSC-102") is False


def shut_102(view: View) -> bool:
    return view.on("ZSC-102") is True and view.on("ZSO-102") is False


def not_shut_101(view: View) -> bool:
    return not shut_101(view)


def not_shut_102(view: View) -> bool:
    return not shut_102(view)


_NO_PRESSURE = Fail("pressure_lost", pressure_lost, lambda _limits: LOST_S)
SETTLE_FAILS = (Fail("stuck_101", not_shut_101, lambda limits: 1.5 * limits.stroke_101_s), _NO_PRESSURE)
PRESSURE_FAILS = (
    Fail("decay", decayed),
    Fail("rising", rising),
    Fail("no_pressure", no_pressure, lambda _limits: NO_PRESSURE_S),
    _NO_PRESSURE,
    Fail("temperature_lost", temperature_lost, lambda _limits: CELSIUS_LOST_S),
)
RESEAT_102_FAILS = (
    Fail("stuck_102", not_shut_102, lambda limits: 1.5 * limits.stroke_102_s),
    Fail("decay", decayed),
    Fail("rising", rising),
    _NO_PRESSURE,
)

"""A new rack against water, with noise and sensors' own errors: every fault that the gates must catch, and a good rack."""

from collections.abc import Callable

import pytest

from racky.core.lifecycle_chart import State
from tests.racky.core.admission_bench import Admission

#: 0.31 mm lets 50 mL/min out at the test's pressure.
HOLE_MM = 0.31


def _strainer(rack: Admission) -> None:
    rack.field.rack.strainer_blockage = 0.15


def _swapped_temperatures(rack: Admission) -> None:
    rack.swapped = {"TT-101": "TT-102A", "TT-102A": "TT-101"}


def _all_temperatures_swapped(rack: Admission) -> None:
    rack.swapped = {"TT-101": "TT-102A", "TT-102A": "TT-101", "TT-102B": "TT-101", "TT-102C": "TT-101"}


def _swapped_pressures(rack: Admission) -> None:
    rack.swapped = {"PT-101": "PT-102", "PT-102": "PT-101"}


def _supply_valve(rack: Admission) -> None:
    rack.field.rack.xv_101.highest = 0.9


def _return_valve(rack: Admission) -> None:
    rack.field.rack.xv_102.highest = 0.9


def _control_valve(rack: Admission) -> None:
    rack.field.rack.fcv.highest = 0.9


def _leak(rack: Admission) -> None:
    rack.field.rack.leak_mm["hose"] = HOLE_MM


def _meter(tag: str, share: float) -> Callable[[Admission], None]:
    def meter(rack: Admission) -> None:
        rack.bent[tag] = share

    return meter


def _fan_bit(rack: Admission) -> None:
    rack.psu["SA-112C"] = 1.0


def _slow_fan(rack: Admission) -> None:
    rack.psu["ST-112C"] = 0.6


#: Fault → a gate that must be among those that refuse, and Valvey's word where it is Valvey that finds it.
FAULTS: dict[str, tuple[Callable[[Admission], None], str, str]] = {
    "15 % blocked strainer": (_strainer, "inlet", ""),
    "supply and return temperature swapped": (_swapped_temperatures, "rise", ""),
    "all temperatures swapped": (_all_temperatures_swapped, "rise", ""),
    "supply and return pressure swapped": (_swapped_pressures, "rack-conductance", ""),
    "XV-101 reaches 90 %": (_supply_valve, "work", "XV-101"),
    "XV-102 reaches 90 %": (_return_valve, "work", "XV-102 did not make its full stroke"),
    "FCV-101 reaches 90 %": (_control_valve, "control-valve", ""),
    "50 mL/min leak": (_leak, "work", "the rack does not hold its pressure"),
    "FT-101 8 % high": (_meter("FT-101", 1.08), "", ""),
    "FT-101 8 % low": (_meter("FT-101", 0.92), "meters-cold", ""),
    "FT-102 8 % high": (_meter("FT-102", 1.08), "meters-cold", ""),
    "FT-102 8 % low": (_meter("FT-102", 0.92), "meters-cold", ""),
    "a supply with a bad fan": (_fan_bit, "supply-faults", ""),
    "a supply whose fan is slow": (_slow_fan, "fans", ""),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_gates_catch(name: str) -> None:
    fault, gate, word = FAULTS[name]
    rack = Admission(seed=11)
    fault(rack)
    rack.admitted()
    assert rack.state is State.QUARANTINED, rack.shown()
    assert not gate or gate in rack.refused, rack.shown()
    assert word in "; ".join(one.detail for one in rack.memory.life.report)
    for _ in range(30):
        rack.look()
    assert not any(rack.on.values())


def test_the_leak_is_one_of_50_ml_a_minute() -> None:
    rack = Admission(seed=11)
    _leak(rack)
    most = 0.0
    rack.until(State.IDENTIFIED)
    rack.ask("admit")
    while rack.state is not State.QUARANTINED:
        rack.look()
        if str(rack.field.memory.step) == "pressure":
            most = max(most, rack.field.rack.leak_lpm)
    assert most == pytest.approx(0.05, rel=0.1)


def test_a_good_rack_is_admitted() -> None:
    rack = Admission(seed=11).admitted()
    assert rack.state is State.PRODUCTION, rack.shown()
    assert rack.field.alarms == set()
    assert rack.field.latched == ()
    assert rack.field.rack.permit_closed


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_good_rack_is_admitted_in_50_of_50_seeds() -> None:
    lost = {}
    for seed in range(100, 150):
        rack = Admission(seed).admitted()
        if rack.state is not State.PRODUCTION:
            lost[seed] = rack.shown()
    assert lost == {}


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", FAULTS)
def test_the_gates_catch_it_in_10_of_10_seeds(name: str) -> None:
    for seed in range(300, 310):
        rack = Admission(seed)
        FAULTS[name][0](rack)
        assert rack.admitted().state is State.QUARANTINED, rack.shown()

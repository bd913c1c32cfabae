"""What the gates measure, out of windows: each number by hand, and None wherever a reading is missing."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType

import pytest

from fieldkit.coolant import density_kg_m3
from racky.core.burn_in import MEASURES
from racky.core.gates import Measured
from racky.core.lifecycle import KNOWN
from racky.core.plan import Design
from racky.core.setup import Shelf
from racky.core.shown import LOAD, NOMINAL, WIDE, Shown
from racky.core.windows import Window, seen

DESIGN = Design(132.0, 197.0, kv_rack=12.5, header_kpa=2.0, header_lpm=500.0, detectors=("LDT-101", "LDA-101"))
SHELVES = (Shelf(111, psus=("A", "B", "C")), Shelf(112, psus=("A", "B", "C")))
COLD: dict[str, float | None] = {
    "FT-101": 266.0, "FT-102": 266.0, "FT-201": 500.0, "TT-101": 40.0, "TT-102A": 40.0, "TT-102B": 40.0, "TT-102C": 40.0,
    "PT-101": 320.0, "PT-102": 155.0, "PT-201": 352.0, "ZT-101": 100.0, "ET-101": 0.0, "JT-101": 0.0, "LDT-101": 0.0, "LDA-101": 0.0,
    "latches": 0.0, "alarms": 0.0,
}  # fmt: skip
WARM: dict[str, float | None] = COLD | {
    "FT-101": 190.0, "FT-102": 190.0 * density_kg_m3(40.0) / density_kg_m3(49.5), "TT-102A": 49.4, "TT-102B": 49.5, "TT-102C": 49.7,
    "PT-101": 310.0, "PT-102": 226.0, "ET-101": 125.0, "JT-101": 128.0, "JT-111": 62.0, "JT-112": 63.0,
    **{f"{letters}-{shelf}{psu}": value for letters, value in (("XA", 0.0), ("SA", 0.0), ("EA", 0.0), ("ST", 9000.0), ("JT", 21.0)) for shelf in (111, 112) for psu in "ABC"},
}  # fmt: skip


def window(values: Mapping[str, float | None]) -> Window:
    return _window(tuple(values.items()))


@cache
def _window(values: tuple[tuple[str, float | None], ...]) -> Window:
    out = Window(0.0)
    for n in range(40):
        out = seen(out, dict(values), float(n))
    return out


def shown(
    where: str = LOAD,
    design: Design = DESIGN,
    shelves: tuple[Shelf, ...] = SHELVES,
    tags: Mapping[str, float | None] = MappingProxyType({}),
    **changes: float | None,
) -> Shown:
    """All three windows of a good rack, ``tags`` and ``changes`` put into one of them; ``FT_101`` stands for FT-101."""
    put = {**tags, **{name.replace("_", "-"): value for name, value in changes.items()}}
    base = {WIDE: COLD, NOMINAL: WARM | {"ZT-101": 75.0, "FT-101": 197.0}, LOAD: WARM}
    return Shown(
        design, shelves, {name: window(values | put if name == where else values) for name, values in base.items()}
    )


def value(name: str, what: Shown) -> float | None:
    return MEASURES[name](what).value


NOWHERE = Shown(DESIGN, SHELVES, {})

#: Measure → (its value in a good rack, window, tags without which it measures nothing).
TABLE: dict[str, tuple[float, str, tuple[str, ...]]] = {
    "inlet_resistance_pct": (96.3, WIDE, ("FT-101", "TT-101", "PT-101", "PT-201", "ZT-101", "FT-201")),
    "fcv_reach_pct": (100.0, WIDE, ("ZT-101",)),
    "flow_wide_lpm": (266.0, WIDE, ("FT-101",)),
    "rack_kv_pct": (100.12, WIDE, ("FT-101", "TT-101", "PT-101", "PT-102")),
    "meters_apart_wide_pct": (0.0, WIDE, ("FT-101", "FT-102", "TT-101")),
    "flow_nominal_pct": (100.0, NOMINAL, ("FT-101",)),
    "fcv_nominal_pct": (75.0, NOMINAL, ("ZT-101",)),
    "load_pct": (94.7, LOAD, ("ET-101",)),
    "delta_k": (9.5, LOAD, ("TT-101",)),
    "returns_apart_k": (0.3, LOAD, ("TT-102A", "TT-102B", "TT-102C")),
    "return_c": (49.7, LOAD, ()),
    "supply_c": (40.0, LOAD, ("TT-101",)),
    "supply_spread_k": (0.0, LOAD, ("TT-101",)),
    "heat_balance_pct": (100.0, LOAD, ("FT-101", "ET-101", "TT-101")),
    "meters_apart_load_pct": (0.0, LOAD, ("FT-101", "FT-102", "TT-101")),
    "pressure_drop_kpa": (90.3, LOAD, ("FT-101", "PT-101", "PT-102")),
    "feeder_pct": (97.7, LOAD, ("JT-101", "ET-101")),
    "leaks": (0.0, LOAD, ("LDT-101", "LDA-101")),
    "latches": (0.0, LOAD, ("latches",)),
    "alarms": (0.0, LOAD, ("alarms",)),
    "readings_pct": (100.0, LOAD, ()),
    "supply_faults": (0.0, LOAD, ("XA-111A", "SA-112B", "EA-112C")),
    "fan_pct": (100.0, LOAD, ("ST-111A", "ST-112C")),
    "supply_share_pct": (100.0, LOAD, ("JT-111A", "JT-112C")),
    "shelves_apart_pct": (1.6, LOAD, ("JT-111", "JT-112")),
}


def test_the_table_has_every_measure() -> None:
    assert set(TABLE) == set(MEASURES)
    assert set(MEASURES) < set(KNOWN)


@pytest.mark.parametrize("name", TABLE)
def test_a_good_rack_measures_what_it_is(name: str) -> None:
    assert value(name, shown()) == pytest.approx(TABLE[name][0], abs=0.06)


@pytest.mark.parametrize(("name", "tag"), [(name, tag) for name, row in TABLE.items() for tag in row[2]])
def test_without_one_of_its_readings_a_measure_is_nothing(name: str, tag: str) -> None:
    lost = MEASURES[name](shown(TABLE[name][1], tags={tag: None}))
    assert lost.value is None


@pytest.mark.parametrize("name", TABLE)
def test_without_its_window_a_measure_is_nothing(name: str) -> None:
    assert value(name, NOWHERE) is None


@pytest.mark.parametrize("name", ["delta_k", "heat_balance_pct", "meters_apart_load_pct", "return_c"])
def test_one_or_two_lost_return_sensors_do_not_matter_and_three_do(name: str) -> None:
    assert value(name, shown(TT_102A=None)) == pytest.approx(TABLE[name][0], abs=1.2)
    assert value(name, shown(TT_102A=None, TT_102B=None, TT_102C=None)) is None


def test_a_measure_that_misses_readings_names_them() -> None:
    assert MEASURES["delta_k"](shown(TT_101=None)).detail == "TT-101 had no level in the load window"
    assert MEASURES["leaks"](shown(LDA_101=None)).detail == "LDA-101 had no level in the load window"
    assert MEASURES["supply_faults"](shown(SA_112B=None)).detail == "SA-112B had no level in the load window"
    assert MEASURES["returns_apart_k"](shown(TT_102B=None)).detail == "only 2 of 3 return temperatures have a level"


def test_the_inlet_is_compared_with_what_its_sheets_say_where_fcv_101_stands() -> None:
    """Half-open, its valve's Kv is 30.4·50^-0.5 = 4.3: the same pressure lost at less flow."""
    assert value("inlet_resistance_pct", shown(WIDE, PT_101=315.0)) == pytest.approx(112.4, abs=0.1)
    assert value("inlet_resistance_pct", shown(WIDE, ZT_101=50.0)) == pytest.approx(2.14, abs=0.05)
    assert value("inlet_resistance_pct", shown(WIDE, ZT_101=101.0)) == value("inlet_resistance_pct", shown())
    assert value("inlet_resistance_pct", shown(WIDE, FT_101=0.0)) is None
    here = replace(DESIGN, header_kpa=0.0)
    assert value("inlet_resistance_pct", shown(WIDE, here, FT_201=None)) == pytest.approx(102.8, abs=0.1)
    assert value("inlet_resistance_pct", shown(WIDE, FT_201=1000.0)) == pytest.approx(
        77.1, abs=0.1
    )  # the header's loss is squared


def test_swapped_sensors_are_guessed() -> None:
    swapped = MEASURES["rack_kv_pct"](shown(WIDE, PT_101=155.0, PT_102=320.0))
    assert swapped == Measured(0.0, "PT-101 shows 155.0 kPa, PT-102 320.0 kPa: are they swapped?")
    assert value("rack_kv_pct", shown(WIDE, PT_101=155.0)) == 0.0
    cold = MEASURES["delta_k"](shown(TT_101=50.0, TT_102A=40.0, TT_102B=40.0, TT_102C=40.0))
    assert cold == Measured(-10.0, "supply 50.00 °C, return 40.00 °C: are the sensors swapped?")
    assert "swapped" not in MEASURES["delta_k"](shown()).detail


def test_meters_are_compared_as_mass() -> None:
    assert value("meters_apart_wide_pct", shown(WIDE, FT_101=1.08 * 266.0)) == pytest.approx(7.69, abs=0.01)
    assert value("meters_apart_wide_pct", shown(WIDE, FT_102=1.08 * 266.0)) == pytest.approx(-7.69, abs=0.01)
    assert value("meters_apart_load_pct", shown(FT_102=190.0)) == pytest.approx(0.511, abs=0.001)
    assert MEASURES["meters_apart_wide_pct"](shown(WIDE, FT_101=0.0, FT_102=0.0)) == Measured(None, "nothing flows")


def test_nothing_is_divided_by_nothing() -> None:
    assert MEASURES["heat_balance_pct"](shown(ET_101=0.0)) == Measured(None, "there is no load")
    assert value("feeder_pct", shown(JT_101=0.0)) is None
    assert value("pressure_drop_kpa", shown(FT_101=0.0)) is None
    assert value("shelves_apart_pct", shown(JT_111=0.0, JT_112=0.0)) is None
    assert value("fan_pct", shown(ST_111A=0.0, ST_111B=0.0, ST_111C=9000.0)) == 0.0


def test_one_wet_sample_in_any_window_is_a_leak() -> None:
    good = shown()
    once = seen(good.windows[NOMINAL], WARM | {"LDT-101": 1.0}, 40.0)
    told = MEASURES["leaks"](replace(good, windows={**good.windows, NOMINAL: once}))
    assert told == Measured(1.0, "LDT-101")


def test_one_alarm_in_any_window_counts_and_every_window_must_have_heard() -> None:
    assert value("alarms", shown(NOMINAL, alarms=2.0)) == 2.0
    assert value("latches", shown(WIDE, latches=1.0)) == 1.0
    assert value("alarms", shown(NOMINAL, alarms=None)) is None


def test_the_worst_window_says_how_whole_the_readings_are() -> None:
    assert value("readings_pct", shown(WIDE, tags={"PT-202": None})) == pytest.approx(
        100.0 * (1.0 - 1.0 / (len(COLD) + 1))
    )


def test_the_worst_supply_of_the_worst_shelf_is_told() -> None:
    told = MEASURES["fan_pct"](shown(ST_111B=8100.0, ST_112C=5400.0))
    assert told.value == pytest.approx(60.0)
    assert told.detail == "ST-112C 5400.00, median of its shelf 9000.00"
    assert MEASURES["supply_faults"](shown(SA_112C=1.0, EA_111A=1.0)) == Measured(2.0, "EA-111A, SA-112C")


@pytest.mark.parametrize(
    ("name", "nothing"),
    [("fan_pct", 100.0), ("supply_share_pct", 100.0), ("shelves_apart_pct", 0.0), ("supply_faults", 0.0)],
)
def test_a_rack_without_shelves_of_its_own_has_none_that_are_bad(name: str, nothing: float) -> None:
    assert value(name, shown(shelves=())) == nothing


def test_every_measure_is_a_function_of_what_is_shown() -> None:
    measures: list[Callable[[Shown], Measured]] = list(MEASURES.values())
    assert all(isinstance(measure(NOWHERE), Measured) for measure in measures)

"""The supply temperature stays above the racks' dew points: raised in small steps, home again when the air is drier."""

from dataclasses import replace

import pytest

from fieldkit.coolant import dew_point_c
from tests.stored import reread
from tests.valvey.core.loop.paper import PaperLoop, limits
from valvey.core.loop import dew, persist
from valvey.core.loop.facts import LoopFact, LoopFactKind
from valvey.core.loop.limits import Bounds
from valvey.core.loop.memory import LoopMemory, Raised

BOUNDS = Bounds(15.0, 45.0)
AIR_C = 30.0


def loop(supply_c: float = 22.0, **changes: object) -> PaperLoop:
    made = PaperLoop(limits(**{"supply": BOUNDS, **changes}))
    made.cdu["SP-SUPPLY"] = supply_c
    return made


def damp(made: PaperLoop, rack: str, dew_c: float) -> None:
    """Let a rack's room show this dew point."""
    low, high = 1.0, 100.0
    for _ in range(60):
        humidity = (low + high) / 2.0
        low, high = (humidity, high) if dew_point_c(AIR_C, humidity) < dew_c else (low, humidity)
    made.put(rack, {"TT-110": AIR_C, "MT-110": low})


def supply(made: PaperLoop) -> float:
    found = made.cdu["SP-SUPPLY"]
    assert found is not None
    return found


def steps(made: PaperLoop) -> list[float]:
    return [scan.writes["supply_sp"] for scan in made.scans if "supply_sp" in scan.writes]


def of(made: PaperLoop, kind: LoopFactKind) -> list[LoopFact]:
    return [fact for fact in made.facts if fact.kind is kind]


def test_a_supply_below_a_dew_point_and_two_kelvin_is_raised_to_two_and_a_half() -> None:
    made = loop()
    damp(made, "r2", 20.1234)
    damp(made, "r3", 16.0)
    made.run(60.0)
    assert steps(made) == pytest.approx([22.45, 22.6234], abs=0.0001)
    assert supply(made) == pytest.approx(22.6234, abs=0.0001)
    (told,) = of(made, LoopFactKind.SUPPLY_RAISED)
    assert told.fields == {"rack": "r2", "dew_c": 20.12, "from": 22.0, "to": 22.62}
    assert made.memory.alarms["supply-raised"].active
    assert not of(made, LoopFactKind.SUPPLY_HOME)


@pytest.mark.parametrize(("supply_c", "raised"), [(22.49, True), (22.51, False)])
def test_two_kelvin_are_enough(supply_c: float, raised: bool) -> None:
    made = loop(supply_c)
    damp(made, "r2", 20.5)
    made.run(30.0)
    assert bool(steps(made)) is raised
    assert (made.memory.raised is not None) is raised
    assert bool(of(made, LoopFactKind.SUPPLY_RAISED)) is raised


def test_it_is_moved_by_less_than_half_a_kelvin_and_once_in_ten_seconds() -> None:
    made = loop()
    damp(made, "r1", 24.0)
    made.scan()
    assert supply(made) == pytest.approx(22.45)
    made.run(9.5)
    assert len(steps(made)) == 1
    made.scan()
    assert steps(made) == pytest.approx([22.45, 22.9])


def test_it_goes_home_as_the_air_gets_drier_and_no_lower() -> None:
    made = loop()
    damp(made, "r2", 21.5)
    made.run(80.0)
    assert supply(made) == pytest.approx(24.0, abs=dew.BAND_C)
    damp(made, "r2", 20.7)
    made.run(60.0)
    assert supply(made) == pytest.approx(23.2, abs=dew.BAND_C)
    assert made.memory.raised is not None
    damp(made, "r2", 10.0)
    made.run(60.0)
    assert supply(made) == pytest.approx(22.0, abs=dew.BAND_C)
    assert made.memory.raised is None
    (home,) = of(made, LoopFactKind.SUPPLY_HOME)
    assert home.fields == {"at": supply(made)}
    made.run(5.0)
    assert "supply-raised" not in made.memory.alarms or not made.memory.alarms["supply-raised"].active


def test_bounds_are_not_left_however_damp_it_is() -> None:
    made = loop(44.0)
    damp(made, "r1", 29.0)
    made.put("r2", {"TT-101": 44.0, "TDY-101": 0.5})
    made.run(60.0)
    assert supply(made) == pytest.approx(45.0, abs=dew.BAND_C)
    assert max(steps(made)) <= 45.0


def test_a_home_below_the_bounds_is_not_gone_back_to() -> None:
    made = loop(14.8)
    damp(made, "r1", 14.0)
    made.run(60.0)
    damp(made, "r1", 5.0)
    made.run(60.0)
    assert supply(made) == pytest.approx(15.0, abs=dew.BAND_C)


def test_a_rack_without_a_room_counts_by_its_own_margin() -> None:
    made = loop()
    made.put("r4", {"TT-101": 22.3, "TDY-101": 1.3})
    view = made.view(now_s=made.now_s)
    made.scan()
    assert dew.dew_c(made.view(), "r4") == pytest.approx(21.0)
    assert dew.dew_c(made.view(), "r1") is None
    made.run(60.0)
    assert supply(made) == pytest.approx(23.5, abs=dew.BAND_C)
    assert view.limits.supply is BOUNDS


@pytest.mark.parametrize("missing", ["TT-110", "MT-110", "TT-101", "TDY-101"])
def test_half_a_pair_is_no_dew_point(missing: str) -> None:
    made = loop()
    pair = ("TT-110", "MT-110") if missing.endswith("110") else ("TT-101", "TDY-101")
    made.put("r1", dict.fromkeys(pair, 20.0))
    made.scan()
    assert dew.dew_c(made.view(), "r1") is not None
    points = {tag: value for tag, value in made.racks["r1"].points.items() if tag != missing}
    made.racks["r1"] = replace(made.racks["r1"], points=points)
    assert dew.dew_c(made.view(), "r1") is None


def test_a_loop_of_which_nothing_is_heard_stays_where_it_is() -> None:
    made = loop()
    damp(made, "r2", 21.5)
    made.run(11.0)
    before, raised = supply(made), made.memory.raised
    made.put("r2", {})
    points = {tag: value for tag, value in made.racks["r2"].points.items() if not tag.endswith("110")}
    made.racks["r2"] = replace(made.racks["r2"], points=points)
    made.run(60.0)
    assert supply(made) == before
    assert made.memory.raised == raised is not None


@pytest.mark.parametrize("what", ["no bounds", "no register", "disarmed", "another coordinator"])
def test_nothing_is_written_where_nothing_may_be(what: str) -> None:
    made = loop(**({"supply": None} if what == "no bounds" else {"armed": False} if what == "disarmed" else {}))
    made.others = what == "another coordinator"
    if what == "no register":
        made.cdu["SP-SUPPLY"] = None
    damp(made, "r2", 21.5)
    made.run(30.0)
    assert steps(made) == []
    assert any("supply_sp" in scan.stopped for scan in made.scans) is (what in {"disarmed", "another coordinator"})


def test_what_somebody_else_sets_is_the_home_from_then_on() -> None:
    made = loop()
    damp(made, "r2", 21.5)
    made.run(80.0)
    made.cdu["SP-SUPPLY"] = 30.0
    made.run(20.0)
    assert (supply(made), made.memory.raised) == (30.0, None)
    damp(made, "r2", 10.0)
    made.run(20.0)
    assert supply(made) == 30.0
    damp(made, "r2", 28.5)
    made.run(60.0)
    assert made.memory.raised is not None
    assert made.memory.raised.home_c == 30.0


def test_a_write_that_was_not_taken_is_no_hand_and_is_tried_again() -> None:
    made = loop()
    made.obey = False
    damp(made, "r2", 21.5)
    made.run(30.0)
    assert len(steps(made)) == 3
    assert len(of(made, LoopFactKind.SUPPLY_RAISED)) == 1
    assert made.memory.raised == Raised(22.0, 22.0, 22.45, made.memory.raised.at_s if made.memory.raised else 0.0)


@pytest.mark.parametrize(
    ("at_s", "present", "by_hand"),
    [
        (2.0, 23.0, True), (1.9, 23.0, False), (9.0, 22.4999, False), (9.0, 22.5001, True), (9.0, 22.0499, False), (9.0, 21.9501, False),
        (9.0, 21.9499, True),
    ],
)  # fmt: skip
def test_a_hand_is_seen_once_the_register_had_time(at_s: float, present: float, by_hand: bool) -> None:
    assert dew._by_hand(Raised(22.0, 22.0, 22.45, 100.0), present, 100.0 + at_s) is by_hand


def test_what_was_written_is_kept_with_what_stood_before() -> None:
    memory = replace(LoopMemory(), raised=Raised(22.0, 22.0, 22.0, 0.0))
    assert dew.written(memory, 22.45, 22.01, 7.0).raised == Raised(22.0, 22.01, 22.45, 7.0)
    assert dew.written(LoopMemory(), 22.45, 22.01, 7.0) == LoopMemory()


def test_a_start_does_not_know_where_home_was() -> None:
    memory = replace(LoopMemory(), raised=Raised(22.0, 22.0, 22.45, 0.0))
    assert reread(memory).raised is None
    assert persist.from_dict(persist.to_dict(memory, whole=True), whole=True).raised == memory.raised


def test_the_pumps_set_point_is_written_beside_it_and_each_remembers_its_own() -> None:
    made = loop().settled()
    damp(made, "r2", 21.5)
    made.run(2.0)
    assert made.memory.raised is not None
    assert made.memory.raised.written_c == pytest.approx(22.45)
    assert made.memory.written is None or made.memory.written.value != made.memory.raised.written_c


def test_the_edges_of_the_bands_are_within() -> None:
    assert not dew._by_hand(Raised(0.0, 0.0, 0.0, 0.0), dew.HAND_C, 9.0)
    assert dew._by_hand(Raised(0.0, 0.0, 0.0, 0.0), dew.HAND_C + 1e-9, dew.HAND_S)


def at_edge(supply_c: float, dew_c: float, raised: Raised | None) -> PaperLoop:
    """One step of a loop on a rack whose own margin says exactly this dew point."""
    made = loop(supply_c, supply=Bounds(0.0, 45.0))
    made.put("r1", {"TT-101": dew_c + 2.0, "TDY-101": 2.0})
    made.memory = replace(made.memory, raised=raised)
    made.scan()
    return made


def test_exactly_two_kelvin_are_enough_and_a_need_that_is_exactly_home_ends_there() -> None:
    assert at_edge(22.0, 20.0, None).memory.raised is None
    assert at_edge(22.5, 20.0, Raised(22.5, 22.5, 22.5, 0.0)).memory.raised is None


def test_a_set_point_exactly_a_band_away_is_moved() -> None:
    made = at_edge(0.0, -20.0, Raised(dew.BAND_C, 0.0, 0.0, 0.0))
    assert steps(made) == [dew.BAND_C]
    assert made.memory.raised is not None

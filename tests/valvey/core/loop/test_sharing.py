"""Flow that is short goes by priority, nobody is left with nothing, and it ends when there is enough again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.valvey.core.loop.paper import PaperLoop
from valvey.core.chart import State
from valvey.core.loop.facts import LoopFactKind
from valvey.core.loop.model import capacity_lpm
from valvey.core.loop.sharing import MARGIN, Need, needs_lpm, power_cap_kw, share
from valvey.core.loop.step import LoopState, state_of

NEEDS = st.dictionaries(
    st.sampled_from("abcdefgh"),
    st.builds(lambda flow, least, rank: Need(flow, least * flow, rank), st.floats(1, 400), st.floats(0, 1), st.integers(1, 4)),
    min_size=1,
)  # fmt: skip


def test_the_first_in_rank_get_all_and_the_last_share_what_is_left() -> None:
    needs = {"a": Need(200, 100, 1), "b": Need(200, 100, 2), "c": Need(100, 50, 2)}
    assert share(needs, 425.0) == pytest.approx({"a": 200.0, "b": 150.0, "c": 75.0})
    assert share(needs, 900.0) == pytest.approx({"a": 200.0, "b": 200.0, "c": 100.0})


def test_when_not_even_the_least_is_there_everybody_gets_the_same_part_of_it() -> None:
    needs = {"a": Need(200, 100, 1), "b": Need(200, 50, 2)}
    assert share(needs, 75.0) == pytest.approx({"a": 50.0, "b": 25.0})


def test_rounding_leaves_the_last_in_rank_nothing_and_never_less() -> None:
    first = ((14.0, 0.0), (21.0, 21.0), (34.0, 34.0), (164.0, 0.0), (331.0, 331.0), (331.75, 165.875))
    needs = {str(n): Need(flow, least, 1) for n, (flow, least) in enumerate(first)}
    assert min(share({"last": Need(1.0, 0.0, 2), **needs}, 656.5).values()) >= 0.0


def test_also_of_a_very_small_need_no_more_is_shared_than_there_is() -> None:
    assert share({"a": Need(1.05, 1.0, 1)}, 1.02) == pytest.approx({"a": 1.02}, abs=1e-9)


@given(NEEDS, st.floats(0.1, 3000))
def test_no_more_is_shared_than_there_is_and_nobody_gets_more_than_it_needs(
    needs: dict[str, Need], capacity: float
) -> None:
    ceilings = share(needs, capacity)
    assert sum(ceilings.values()) == pytest.approx(min(capacity, sum(n.flow_lpm for n in needs.values())), rel=1e-6)
    assert all(0.0 <= ceilings[name] <= need.flow_lpm * (1 + 1e-9) for name, need in needs.items())
    served = [(need.priority, ceilings[name] >= need.flow_lpm * (1 - 1e-9)) for name, need in needs.items()]
    first_short = min((rank for rank, whole in served if not whole), default=9)
    above_least = [
        n
        for n, need in needs.items()
        if need.priority > first_short and ceilings[n] > need.least_lpm * (1 + 1e-6) + 1e-6
    ]
    assert above_least == []  # whoever comes later waits until the earlier have all they need


def test_a_racks_need_follows_its_load_within_the_bounds_of_its_own_flow_control() -> None:
    loop = PaperLoop().settled()
    assert needs_lpm(loop.view())["r1"] == pytest.approx(MARGIN * 1.49 * 120.0)
    loop.put("r1", points={"JT-101": 10.0, "ET-101": 9.0})
    loop.put("r2", points={"JT-101": 500.0})
    loop.lose("r3", "JT-101", "ET-101")
    loop.put("r4", state=State.ISOLATED)
    needs = needs_lpm(loop.view())
    assert needs == pytest.approx({"r1": 100.0, "r2": 250.0, "r3": MARGIN * 1.49 * 132.0})


def tripped(loop: PaperLoop) -> None:
    """One of two pumps is gone: the other runs at full speed and gives less."""
    loop.cdu |= {"P-201": 100.0, "PT-201": 320.0, "FT-201": 740.0, "P-201-TRIP": 1.0}


def test_a_pump_trip_gives_the_racks_ceilings_by_priority_within_seconds() -> None:
    loop = PaperLoop().settled()
    for name in loop.limits.racks:
        loop.put(name, points={"JT-101": 130.0})
    loop.run(10.0)
    assert dict(loop.memory.ceilings) == {}
    tripped(loop)
    loop.run(12.0)
    assert loop.memory.short
    assert state_of(loop.memory, loop.limits, False) is LoopState.SHARING
    ceilings = loop.memory.ceilings
    assert list(ceilings) == ["r1", "r2", "r3", "r4"]
    need = MARGIN * 1.49 * 130.0
    assert ceilings["r1"] == pytest.approx(need)
    assert ceilings["r4"] < 0.9 * need
    assert power_cap_kw(ceilings["r1"]) == pytest.approx(130.0)
    assert {"flow-short", "pump-trip"} <= loop.alarms()
    assert [fact.fields["needed_lpm"] for fact in loop.told(LoopFactKind.SHORT)] == [round(4 * need)]


def test_a_great_shortage_leaves_the_last_in_rank_their_least() -> None:
    loop = PaperLoop().settled()
    for name in loop.limits.racks:
        loop.put(name, points={"JT-101": 155.0})
    loop.run(5.0)
    tripped(loop)
    loop.run(12.0)
    need = MARGIN * 1.49 * 155.0
    capacity = capacity_lpm(loop.limits, loop.memory.droop)
    assert capacity is not None
    least = loop.limits.least_share * need
    left = capacity - 4.0 * least
    by_rank = [min(need - least, max(0.0, left - n * (need - least))) for n in range(4)]
    assert list(loop.memory.ceilings.values()) == pytest.approx([least + more for more in by_rank])
    assert by_rank[2] < need - least
    assert by_rank[3] == 0.0


def test_sharing_ends_only_after_there_has_been_enough_for_a_while() -> None:
    loop = PaperLoop().settled()
    for name in loop.limits.racks:
        loop.put(name, points={"JT-101": 130.0})
    tripped(loop)
    loop.run(12.0)
    for name in loop.limits.racks:
        loop.put(name, points={"JT-101": 90.0, "ET-101": 90.0})
    loop.run(20.0)
    assert loop.memory.short
    loop.run(12.0)
    assert not loop.memory.short
    assert dict(loop.memory.ceilings) == {}
    assert len(loop.told(LoopFactKind.ENOUGH)) == 1


def test_a_moment_of_too_much_need_shares_nothing() -> None:
    loop = PaperLoop().settled()
    for name in loop.limits.racks:
        loop.put(name, points={"JT-101": 90.0, "ET-101": 90.0})
    tripped(loop)
    loop.run(12.0)
    assert not loop.memory.short
    for name in loop.limits.racks:
        loop.put(name, points={"JT-101": 140.0})
    loop.run(1.0)
    assert not loop.memory.short
    assert loop.memory.short_since_s is not None


def test_without_the_cdu_the_last_ceilings_stand() -> None:
    loop = PaperLoop().settled()
    for name in loop.limits.racks:
        loop.put(name, points={"JT-101": 130.0})
    tripped(loop)
    loop.run(12.0)
    before = dict(loop.memory.ceilings)
    loop.cdu = dict.fromkeys(loop.cdu, None)
    loop.run(5.0)
    assert dict(loop.memory.ceilings) == before

"""Permissives: each names what forbids the work, and what would allow it, and is silent otherwise."""

from dataclasses import replace
from typing import Any

import pytest

from fieldkit.reading import Quality, Reading
from fieldkit.units import Unit
from tests.attack.bench import Node, rack, standing, view_of
from valvey.core import permissives
from valvey.core.chart import State
from valvey.core.leasing import Leasing
from valvey.core.memory import Effect, Inventory, Latch, Lock
from valvey.core.permissives import Permissive
from valvey.core.requests import REQUESTS

RACK = rack()


def asked(permissive: Permissive, node: Node, **limits: Any) -> tuple[str, str] | None:
    return permissive(replace(view_of(RACK, node), limits=replace(RACK.limits, **limits)))


def shut(**changes: Any) -> Node:
    return standing(State.ISOLATED, **changes)


def latch(sif: str) -> Latch:
    return Latch(sif, sif, Effect.DARK, 1.0, 1.0)


def with_faults(*faults: str) -> Node:
    return replace(shut(), faults=frozenset(faults))


@pytest.mark.parametrize(
    "permissive",
    [
        permissives.armed,
        permissives.armed_in_file,
        permissives.storage,
        permissives.no_latch,
        permissives.no_lock,
        permissives.full,
        permissives.tested,
        permissives.supply_in_band,
        permissives.drain_shut,
        permissives.no_power,
        permissives.granted("open"),
        permissives.proven_shut,
        permissives.drain_metered,
        permissives.fill_metered,
        permissives.pressure_known,
        permissives.sump_free,
        permissives.throttled,
    ],
)
def test_a_healthy_rack_meets_each(permissive: Permissive) -> None:
    assert asked(permissive, shut()) is None


def test_arming() -> None:
    assert asked(permissives.armed, shut(armed=False)) == (
        "the rack is disarmed",
        "an engineer's 'arm', with 'armed: true' in the file",
    )
    forbids = asked(permissives.armed_in_file, shut(), armed_in_file=False)
    assert forbids == ("the configuration says 'armed: false'", "'armed: true' in the file, and a restart")
    assert asked(permissives.disarmed, shut(armed=False)) is None
    assert asked(permissives.disarmed, shut()) == ("the rack is armed already", "nothing: it acts")


def test_latches_are_named_once_and_in_order() -> None:
    node = shut(latches=(latch("SIF-4"), latch("MEM"), latch("SIF-4")))
    forbids = asked(permissives.no_latch, node)
    assert forbids == ("latched: MEM, SIF-4", "clear the cause, then 'reset' with sif: [MEM, SIF-4]")


def test_locks_are_named_by_owner() -> None:
    node = shut(locks=(Lock("anna", "a", 1.0), Lock("ben", "b", 1.0)))
    assert asked(permissives.no_lock, node) == ("locked by anna, ben", "'unlock' by that owner or by a supervisor")


@pytest.mark.parametrize("state", [State.ISOLATED, State.COOLDOWN])
def test_a_turned_key_forbids_as_a_lock_does_also_where_no_lock_begins(state: State) -> None:
    view = view_of(RACK, standing(state))
    turned = Reading("HS-102", 1.0, Unit.NONE, Quality.GOOD, view.now_s)
    forbids = permissives.no_lock(replace(view, readings=dict(view.readings) | {"HS-102": turned}))
    assert forbids == ("the lock-out key HS-102 is turned", "HS-102 turned back by whoever holds it")


@pytest.mark.parametrize("inventory", [Inventory.PART, Inventory.EMPTY, Inventory.UNKNOWN])
def test_a_rack_that_is_not_full_may_be_filled_or_recorded(inventory: Inventory) -> None:
    forbids = asked(permissives.full, shut(inventory=inventory))
    assert forbids is not None
    assert forbids[0] == f"inventory is {inventory}"
    assert "'fill'" in forbids[1]
    assert "'commission'" in forbids[1]


def test_a_rack_that_was_not_tested() -> None:
    forbids = asked(permissives.tested, shut(tested=False))
    assert forbids is not None
    assert forbids[0] == "the rack is not pressure-tested"


def test_the_supply_is_in_band_up_to_its_limit_and_no_further() -> None:
    assert asked(permissives.supply_in_band, shut(), supply_h_c=40.0) is None
    assert asked(permissives.supply_in_band, shut(), supply_h_c=39.9) == (
        "supply is 40.0 degC",
        "at most 39.9 degC at TT-101",
    )
    forbids = asked(permissives.supply_in_band, with_faults("supply temperature lost"))
    assert forbids == ("the supply temperature (TT-101) cannot be believed", "a good reading of TT-101")


@pytest.mark.parametrize("fault", ["drain not shut", "drain limit lost"])
def test_the_drain_must_be_proven_shut(fault: str) -> None:
    assert asked(permissives.drain_shut, with_faults(fault)) == (
        "the drain valve is not proven shut",
        "ZSC-103 good and made",
    )


@pytest.mark.parametrize("fault", ["contactor on", "contactor lost"])
def test_the_permit_must_be_proven_off(fault: str) -> None:
    assert asked(permissives.no_power, with_faults(fault)) == (
        "XI-101 does not prove the permit off",
        "XI-101 good and off",
    )


def test_a_broken_store_forbids_planned_work() -> None:
    forbids = asked(permissives.storage, with_faults("store broken"))
    assert forbids is not None
    assert forbids[0] == "memory or journal cannot be written"


def test_a_grant_is_needed_where_there_is_a_coordinator_but_not_to_go_on_from_the_cooling() -> None:
    granted, refusal = permissives.granted("open"), ("r04 is being filled", "wait for r04")
    silent = ("the loop's coordinator does not answer", "a running coordinator ('valvey loop') of this rack's loop")
    assert asked(granted, shut(), coordinator=True) == silent
    assert asked(granted, shut(leasing=Leasing(work="open", refusal=refusal)), coordinator=True) == refusal
    ours, other = Leasing(work="open", grant_id="a"), Leasing(work="drain", grant_id="a")
    assert asked(granted, shut(leasing=ours, grant="a"), coordinator=True) is None
    assert asked(granted, shut(leasing=other, grant="a"), coordinator=True) == silent
    assert asked(granted, shut(leasing=ours), coordinator=True) == silent  # it has run out
    assert asked(granted, standing(State.COOLDOWN), coordinator=True) is None
    assert asked(granted, shut(), coordinator=False) is None


def test_a_partial_stroke_is_refused_with_what_to_do_instead() -> None:
    forbids = asked(permissives.partial_stroke, shut())
    assert forbids is not None
    assert "'test'" in forbids[1]


def shown(permissive: Permissive, node: Node | None = None, /, **values: float | None) -> tuple[str, str] | None:
    """What it says to a shut rack whose readings differ; tags with their dash as an underscore, None = lost."""
    view = view_of(RACK, shut() if node is None else node)
    readings = {
        tag.replace("_", "-"): Reading(
            tag, value, Unit.NONE, Quality.BAD if value is None else Quality.GOOD, view.now_s
        )
        for tag, value in values.items()
    }
    return permissive(replace(view, readings={**view.readings, **readings}))


def test_a_drain_needs_a_lock_of_somebody() -> None:
    assert asked(permissives.locked, shut(locks=(Lock("anna", "a", 1.0),))) is None
    forbids = asked(permissives.locked, shut())
    assert forbids is not None
    assert forbids[0] == "nobody holds a lock"


@pytest.mark.parametrize("value", [0.0, None])
@pytest.mark.parametrize("tag", ["ZSC_101", "ZSC_102"])
def test_both_valves_must_be_proven_shut(tag: str, value: float | None) -> None:
    forbids = shown(permissives.proven_shut, **{tag: value})
    assert forbids == ("the isolation valves are not proven shut", "ZSC-101 and ZSC-102 good and made")


def test_a_drain_and_a_fill_need_their_meters() -> None:
    forbids = shown(permissives.drain_metered, FT_103=None)
    assert forbids == ("the drain's flow meter (FT-103) cannot be believed", "a good reading of FT-103")
    forbids = shown(permissives.fill_metered, FT_101=None)
    assert forbids == ("the supply flow meter (FT-101) cannot be believed", "a good reading of FT-101")


def test_one_pressure_of_two_is_enough_to_know() -> None:
    assert shown(permissives.pressure_known, PT_101=None) is None
    assert shown(permissives.pressure_known, PT_102=None) is None
    assert shown(permissives.pressure_known, PT_101=None, PT_102=None) is not None


def test_the_sump_must_be_known_not_to_be_high() -> None:
    assert (shown(permissives.sump_free, LSH_203=1.0) or ("",))[0] == "the drain sump is high"
    assert (shown(permissives.sump_free, LSH_203=None) or ("",))[0] == "LSH-203 cannot be believed"


def test_a_full_rack_is_not_filled_unless_it_holds_no_pressure() -> None:
    assert shown(permissives.not_full) == ("the rack is full", "'drain' it first, or 'test' it as it is")
    assert shown(permissives.not_full, PT_101=29.9, PT_102=29.9) is None
    assert shown(permissives.not_full, PT_101=29.9, PT_102=30.0) is not None
    assert shown(permissives.not_full, PT_101=None, PT_102=None) is not None
    for inventory in (Inventory.PART, Inventory.EMPTY, Inventory.UNKNOWN):
        assert shown(permissives.not_full, shut(inventory=inventory)) is None


def test_the_flow_valve_must_stand_low_before_a_fill() -> None:
    assert shown(permissives.throttled, ZT_101=12.0) is None
    assert shown(permissives.throttled, ZT_101=12.1) == ("FCV-101 stands at 12 %", "ZT-101 good and at most 12 %")
    forbids = shown(permissives.throttled, ZT_101=None)
    assert forbids == ("FCV-101 cannot be believed", "ZT-101 good and at most 12 %")


#: What each request needs, in the order in which it is told.
NEEDED = {
    "open": "armed storage no_latch no_lock full tested drain_shut supply_in_band granted",
    "drain": "armed storage locked proven_shut drain_metered pressure_known sump_free granted",
    "fill": "armed storage no_latch no_lock not_full no_power proven_shut drain_shut throttled fill_metered pressure_known sump_free granted",
    "test": "armed storage no_latch no_lock full no_power proven_shut drain_shut pressure_known granted",
    "stroke": "armed storage no_latch no_lock partial_stroke",
    "set_point": "armed",
    "arm": "armed_in_file disarmed",
    "disarm": "armed",
    "commission": "no_power",
}


def test_each_request_needs_what_the_table_says_in_this_order() -> None:
    needed = {name: [one.__name__ for one in row.permissives] for name, row in REQUESTS.items() if row.permissives}
    assert needed == {name: words.split() for name, words in NEEDED.items()}

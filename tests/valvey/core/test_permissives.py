"""Permissives: each names what forbids the work, and what would allow it, and is silent otherwise."""

from dataclasses import replace
from typing import Any

import pytest

from tests.attack.bench import Node, rack, standing, view_of
from valvey.core import permissives
from valvey.core.chart import State
from valvey.core.memory import Effect, Inventory, Latch, Lock
from valvey.core.permissives import Permissive

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
        permissives.granted,
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
    forbids = asked(permissives.granted, shut(), coordinator=True)
    assert forbids is not None
    assert forbids[0] == "no grant from the loop's coordinator"
    assert asked(permissives.granted, shut(grant="lease-1"), coordinator=True) is None
    assert asked(permissives.granted, standing(State.COOLDOWN), coordinator=True) is None
    assert asked(permissives.granted, shut(), coordinator=False) is None


def test_what_is_not_built_says_so() -> None:
    forbids = asked(permissives.built, shut())
    assert forbids is not None
    assert forbids[0] == "this version has no step sequence for it"

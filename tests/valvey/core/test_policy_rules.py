"""The leak policy's rules: which evidence of liquid does what."""

from dataclasses import replace

import pytest

from tests.plant import PaperRack, flowing, isolated, limits
from tests.valvey.core.bench import alarms, judged, last, rows, spoil, verdict
from valvey.core.chart import State
from valvey.core.facts import FactKind
from valvey.core.memory import Effect, Inventory
from valvey.core.policy import DEFAULT_POLICY, Action, PolicyRule
from valvey.core.trips import TRIPS, rows_for
from valvey.core.verdict import Verdict

TRAYS = ("TRAY-1", "TRAY-2", "TRAY-3")


def guarded_by(*rules: PolicyRule) -> PaperRack:
    return flowing(policy=rules)


def wet_tray(rack: PaperRack, tray: str, for_s: float = 30.0) -> None:
    assert rack.ask("leak_evidence", role="racky", tray=tray, wet=True, for_s=for_s).fields["status"] == "accepted"


def test_the_default_policy_is_that_of_the_design() -> None:
    assert [(rule.detectors, rule.action, rule.persist_s, rule.second_symptom) for rule in DEFAULT_POLICY] == [
        (("LDT-101", "LDT-102"), Action.ISOLATE, 0.5, False),
        (("LDT-103",), Action.ISOLATE, 60.0, False),
        (("LDT-103",), Action.ISOLATE, 0.5, True),
    ]
    assert {rule.count for rule in DEFAULT_POLICY} == {1}


def test_each_rule_is_a_row_of_sif_1_before_the_table() -> None:
    table = rows_for(limits())
    assert table[len(DEFAULT_POLICY) :] == TRIPS
    assert [row.key for row in table[: len(DEFAULT_POLICY)]] == [f"SIF-1/{rule.name}" for rule in DEFAULT_POLICY]
    assert {(row.sif, row.blind_s, row.armed) for row in table[: len(DEFAULT_POLICY)]} == {
        ("SIF-1", 5.0, frozenset(State))
    }
    assert (table[0].vote, table[0].title) == ("1oo2", "leak: rack-detector-wet")


@pytest.mark.parametrize(
    ("action", "effect", "state"),
    [
        (Action.DARK, Effect.DARK, State.COOLDOWN),
        (Action.ISOLATE, Effect.ISOLATE, State.ISOLATING),
        (Action.ESD, Effect.ESD, State.ESD),
    ],
)
def test_a_rule_does_what_it_says(action: Action, effect: Effect, state: State) -> None:
    rack = guarded_by(PolicyRule("r", ("LDT-101",), action, 0.0))
    rack.values["LDT-101"] = 1.0
    rack.scan()
    assert (rack.state, rows(rack), rack.memory.latches[0].effect) == (state, ("SIF-1/r",), effect)


@pytest.mark.parametrize(("action", "effect"), [(Action.SHADOW, Effect.ISOLATE), (Action.ALARM, Effect.NONE)])
def test_a_rule_that_only_tells_raises_an_alarm_and_nothing_else(action: Action, effect: Effect) -> None:
    rack = guarded_by(PolicyRule("one-tray", ("LDT-101",), action, 0.5))
    rack.values["LDT-101"] = 1.0
    rack.run(0.5)
    assert rack.told(FactKind.WOULD_TRIP) == []
    rack.scan()
    assert last(rack, FactKind.WOULD_TRIP).fields == {
        "row": "SIF-1/one-tray", "effect": effect, "tag": "LDT-101", "value": 1.0, "limit": None, "bypassed": False,
    }  # fmt: skip
    rack.run(0.3)
    assert "leak-evidence-one-tray" in alarms(rack)
    assert (rack.state, rack.latched, rack.memory.inventory) == (State.FLOWING, (), Inventory.FULL)


def test_at_once_is_at_once() -> None:
    rack = guarded_by(PolicyRule("site-sensor", ("LDT-101", "LDT-102"), Action.ISOLATE, 0.0))
    rack.values["LDT-102"] = 1.0
    rack.scan()
    assert rack.state is State.ISOLATING


def test_two_trays_isolate_and_one_does_not() -> None:
    rack = guarded_by(PolicyRule("two-trays", TRAYS, Action.ISOLATE, 0.5, count=2))
    wet_tray(rack, "1")
    rack.run(1.0)
    assert (rack.state, verdict(rack, "SIF-1/two-trays")) == (State.FLOWING, Verdict.HEALTHY)
    wet_tray(rack, "3")
    assert rack.run(0.45).latched == ()  # asked in a scan, so wet from the next one on
    assert rack.run(0.1).latched == ("SIF-1",)
    assert rack.memory.latches[0].tag == "TRAY-1"


def test_the_evidence_of_a_tray_ends_with_its_time() -> None:
    rack = guarded_by(PolicyRule("tray", TRAYS, Action.ISOLATE, 5.0))
    wet_tray(rack, "2", for_s=1.0)
    rack.run(0.9)
    assert verdict(rack, "SIF-1/tray") is Verdict.DEMAND
    rack.run(0.1)
    assert verdict(rack, "SIF-1/tray") is Verdict.HEALTHY


def test_a_tray_that_dries_is_heard() -> None:
    rack = guarded_by(PolicyRule("tray", TRAYS, Action.ISOLATE, 5.0))
    wet_tray(rack, "2")
    rack.ask("leak_evidence", role="racky", tray="2", wet=False, for_s=30.0)
    rack.scan()
    assert verdict(rack, "SIF-1/tray") is Verdict.HEALTHY


def test_silent_trays_are_dry_and_never_blind() -> None:
    rack = guarded_by(PolicyRule("tray", TRAYS, Action.ISOLATE, 5.0))
    rack.scan()
    seen = judged(rack, "SIF-1/tray")
    assert (seen.verdict, seen.blind, seen.value, seen.at_s) == (Verdict.HEALTHY, False, 0.0, rack.now_s)


def test_a_count_of_two_with_one_wet_and_one_lost_is_unknown() -> None:
    rack = guarded_by(PolicyRule("any-two", ("LDT-101", "LDT-102", "LDT-103"), Action.ISOLATE, 0.5, count=2))
    rack.values["LDT-101"] = 1.0
    rack.scan()
    assert verdict(rack, "SIF-1/any-two") is Verdict.HEALTHY
    spoil(rack, "LDT-103")
    rack.scan()
    assert (verdict(rack, "SIF-1/any-two"), judged(rack, "SIF-1/any-two").blind) == (Verdict.UNKNOWN, False)
    rack.values["LDT-102"] = 1.0
    rack.scan()
    assert verdict(rack, "SIF-1/any-two") is Verdict.DEMAND


def test_one_minor_leak_that_lasts_becomes_a_major_one() -> None:
    rack = guarded_by(
        PolicyRule("minor", ("LDT-103",), Action.ALARM, 0.0), PolicyRule("major", ("LDT-103",), Action.DARK, 3.0)
    )
    rack.values["LDT-103"] = 1.0
    rack.run(3.0)
    assert (rack.state, rack.latched) == (State.FLOWING, ())
    rack.scan()
    assert rack.state is State.COOLDOWN


def test_the_alarm_of_blind_detectors_comes_after_five_seconds() -> None:
    rack = guarded_by(PolicyRule("floor", ("LDT-103",), Action.ISOLATE, 5.0))
    spoil(rack, "LDT-103")
    rack.run(4.9)
    assert "blind-sif-1-floor" not in alarms(rack)
    rack.run(0.3)
    assert "blind-sif-1-floor" in alarms(rack)


def test_a_disarmed_rack_tells_what_its_policy_would_do() -> None:
    rack = isolated()
    rack.ask("disarm")
    rack.memory = replace(rack.memory, would_trip=())
    rack.values["LDT-101"] = 1.0
    rack.run(0.6)
    assert (last(rack, FactKind.WOULD_TRIP).fields["row"], rack.latched) == ("SIF-1/rack-detector-wet", ())

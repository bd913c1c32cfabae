"""Racky's memory on disk: whole, tolerant, and placed into this boot's time."""

from dataclasses import replace

import pytest

from fieldkit.alarm import AlarmState
from fieldkit.request import Answered
from racky.core import persist
from racky.core.alarms import BY_NAME
from racky.core.memory import Cap, Maintenance, Memory, Pending, Phase, Power, PreTrip, Tray
from tests.racky.core.paper_racky import running
from tests.stored import reread

FULL = Memory(
    boot_id="a", now_s=100.0, state_seq=7,
    power=Power(
        phase=Phase.ON, since_s=10.0, why="w", wanted=True, demand={"XS-111": True, "XS-112": False}, asked_s={"XS-111": 20.0, "XS-112": 90.0},
        said_s={"XS-112": 91.0}, late=frozenset({"XS-112"}), tripped="t", cap=Cap(80.0, "anna", "w", 30.0, 130.0),
        pretrip={"SIF-3/cap": PreTrip(70.0, 98.0, 95.0)}, least=("request", 80.0), shed=("XS-112",), shed_s=90.0, over_s=99.0, room_s=98.0,
        allowed_s=97.0, zero_s=96.0,
    ),
    maintenance=Maintenance("anna", "fan", 50.0, 150.0), since_s={"shed": 90.0}, causes=("shed",), trays={"t7": Tray(120.0, 95.0)},
    alarms={"shed": AlarmState(BY_NAME["shed"], active=True, since_s=90.0, raised_s=90.0, count=1)},
    answered=(Answered("id", "accepted", "ok", "", ""),), pending=(Pending("id", "desk", "power_on", 60.0),),
)  # fmt: skip


def test_a_memory_comes_back_as_it_was() -> None:
    assert reread(FULL) == FULL
    assert reread(Memory()) == Memory()
    ran = running().memory
    assert reread(ran) == ran


def test_what_is_missing_is_as_new_and_what_is_unknown_is_dropped() -> None:
    document = persist.to_dict(FULL)
    del document["trays"], document["alarms"]
    document["hobby"] = 1
    assert persist.from_dict(document) == replace(FULL, trays={}, alarms={})


def test_an_alarm_that_has_no_row_any_more_is_dropped() -> None:
    document = persist.to_dict(FULL)
    document["alarms"].append({**document["alarms"][0], "id": "gone"})
    assert persist.from_dict(document) == FULL


def test_what_cannot_be_read_says_what_is_wrong() -> None:
    for document, text in (
        ([], "the memory is list, not an object"),
        ({"format": 2}, "format 2; this version reads formats 1 to 1"),
        ({"format": 1, "power": {"phase": "HALF"}}, "power.phase"),
        ({"format": 1, "alarms": [{}]}, "the alarms of the memory cannot be read"),
    ):
        with pytest.raises(ValueError, match="memory") as error:
            persist.from_dict(document)
        assert text in str(error.value)


def test_a_start_looks_first_and_forgets_what_belonged_to_the_moment() -> None:
    begun = persist.begin(FULL, boot_id="a", now_s=200.0, readable=False)
    power = begun.power
    assert (power.phase, power.was, power.since_s, power.why) == (Phase.UNKNOWN, Phase.ON, 200.0, "started")
    assert (power.said_s, power.over_s, power.room_s, power.allowed_s, power.zero_s) == (
        {},
        None,
        None,
        None,
        None,
    )
    assert (begun.boot_id, begun.now_s, begun.state_seq, begun.readable) == ("a", 200.0, 8, False)
    assert begun.trays == {"t7": Tray(120.0)}
    assert power.cap == FULL.power.cap
    assert begun.maintenance == FULL.maintenance
    assert power.asked_s == FULL.power.asked_s
    again = persist.begin(begun, boot_id="a", now_s=201.0)
    assert again.power.was is Phase.ON
    assert again.readable


def test_a_new_boot_moves_every_time_by_what_its_clock_differs() -> None:
    begun = persist.begin(FULL, boot_id="b", now_s=5.0)
    power = begun.power
    assert power.cap == Cap(80.0, "anna", "w", -65.0, 35.0)
    assert power.pretrip == {"SIF-3/cap": PreTrip(70.0, 3.0, 0.0)}
    assert power.asked_s == {"XS-111": -75.0, "XS-112": -5.0}
    assert power.shed_s == -5.0
    assert begun.maintenance == Maintenance("anna", "fan", -45.0, 55.0)
    assert begun.trays == {"t7": Tray(25.0)}
    assert begun.since_s == {"shed": -5.0}
    assert begun.pending == (Pending("id", "desk", "power_on", -35.0),)
    assert begun.alarms["shed"].since_s == -5.0


def test_a_start_without_cap_or_maintenance_has_none() -> None:
    bare = replace(
        FULL,
        maintenance=None,
        power=replace(FULL.power, cap=replace(FULL.power.cap or Cap(0.0, "", "", 0.0), until_s=None)),
    )
    begun = persist.begin(bare, boot_id="b", now_s=5.0)
    assert begun.maintenance is None
    assert begun.power.cap == Cap(80.0, "anna", "w", -65.0)
    none = persist.begin(replace(bare, power=replace(bare.power, cap=None)), boot_id="b", now_s=5.0)
    assert none.power.cap is None


def test_a_trip_stands_through_a_start() -> None:
    tripped = replace(FULL, power=replace(FULL.power, phase=Phase.TRIPPED))
    assert persist.begin(tripped, boot_id="b", now_s=5.0).power.phase is Phase.TRIPPED


def test_a_rack_with_a_shed_shelf_is_found_so_after_a_start() -> None:
    rack = running()
    rack.ask("cap", kw=80.0)
    rack.run(12.0)
    assert rack.memory.power.shed == ("XS-113",)
    rack.memory = persist.begin(reread(rack.memory), boot_id="b", now_s=rack.now_s)
    rack.run(2.0)
    assert rack.phase() is Phase.ON
    assert rack.memory.power.shed == ("XS-113",)
    assert rack.causes == ["shed"]
    assert rack.memory.power.demand == {"XS-111": True, "XS-112": True, "XS-121": True, "XS-113": False}


def test_a_memory_that_could_not_be_read_is_a_cause_until_the_next_start() -> None:
    rack = running()
    rack.memory = persist.begin(Memory(), boot_id="b", now_s=rack.now_s, readable=False)
    rack.run(1.0)
    assert rack.causes == ["racky-memory-lost"]

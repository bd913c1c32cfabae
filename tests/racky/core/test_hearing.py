"""What other daemons tell, read by their own clocks: what it is worth to Racky."""

from dataclasses import replace

import pytest

from fieldkit import envelope
from fieldkit.alarm import Phase, Priority
from fieldkit.envelope_parts import Bypass, Latch, Lock, PointValue
from fieldkit.reading import Quality, Reading, Reason
from fieldkit.units import Unit
from racky.core import hearing
from racky.core.sight import TOLD_S, AlarmTold, AskTold, DaemonTold, LatchTold, Sight

WALL_S = 1.7e9
"""The other's wall clock when ours says 0."""


def state(**changes: object) -> envelope.State:
    one = envelope.State(
        simulated=True, boot_id="b", wall_s=WALL_S + 100.0, state="FLOWING", step="serve", since_wall_s=WALL_S + 40.0, state_seq=7,
        latches=(Latch(sif="SIF-4", since_wall_s=WALL_S + 60.0, cause="FT-101 10 (limit 49)"),),
        locks=(Lock(owner="anna", why="w", since_wall_s=WALL_S),), bypasses=(Bypass(what="SIF-1", by="anna", why="w", until_wall_s=WALL_S),),
        armed=True, inventory="full", tested=True, grants=(), config_digest="d", detail={"power_cap": ["SIF-3/cap"], "failed": "late"},
    )  # fmt: skip
    return one.model_copy(update=changes)


def alarm(**changes: object) -> envelope.Alarm:
    one = envelope.Alarm(
        simulated=True, id="bad-ft-101", state=Phase.ACK, priority=Priority.MEDIUM, active=True, since_wall_s=WALL_S + 90.0,
        raised_wall_s=WALL_S + 70.0, count=1, cause="c", consequence="q", action="a", respond_s=60.0, runbook="r", trip=False,
    )  # fmt: skip
    return one.model_copy(update=changes)


def test_a_state_is_placed_into_our_time_whatever_its_clock_says() -> None:
    told = hearing.state(DaemonTold(), state(), 130.0, "r01")
    assert told == DaemonTold(
        state_s=130.0, state="FLOWING", step="serve", since_s=70.0, state_seq=7, armed=True, inventory="full", tested=True,
        latches=(LatchTold("SIF-4", "FT-101 10 (limit 49)", 90.0),), locks=("anna",), bypasses=("SIF-1",), power_cap=("SIF-3/cap",),
        failed="late", offset_s=30.0 - WALL_S,
    )  # fmt: skip
    assert told.latched("SIF-4")
    assert not told.latched("SIF-5")


@pytest.mark.parametrize(
    ("detail", "cap_kw"),
    [
        ({}, None),
        ({"ceilings": None}, None),
        ({"ceilings": {"r02": {"power_kw": 50.0}}}, None),
        ({"ceilings": {"r01": 7}}, None),
        ({"ceilings": {"r01": {}}}, None),
        ({"ceilings": {"r01": {"power_kw": 50}}}, 50.0),
    ],
)
def test_a_coordinators_ceiling_is_ours_or_none(detail: dict[str, object], cap_kw: float | None) -> None:
    told = hearing.state(DaemonTold(), state(detail=detail), 130.0, "r01")
    assert told.cap_kw == cap_kw
    assert told.power_cap == ()
    assert told.failed is None


def test_a_snapshot_brings_points_with_their_age() -> None:
    points = {
        "FT-101": PointValue(value=190.0, unit=Unit.L_MIN, quality=Quality.GOOD, reason=None, age_s=0.25),
        "FT-102": PointValue(value=None, unit=Unit.L_MIN, quality=Quality.BAD, reason=Reason.NAN, age_s=2.0),
    }
    snapshot = envelope.Telemetry(
        simulated=True, boot_id="b", seq=1, wall_s=WALL_S + 100.0, wall_synced=True, mono_s=5.0, points=points
    )
    told = hearing.telemetry(DaemonTold(), snapshot, 130.0)
    assert told.heard_s == 130.0
    assert told.points["FT-101"] == Reading("FT-101", 190.0, Unit.L_MIN, Quality.GOOD, 129.75)
    assert told.points["FT-102"] == Reading("FT-102", None, Unit.L_MIN, Quality.BAD, 128.0, Reason.NAN)
    assert told.offset_s == 30.0 - WALL_S


def test_an_alarm_counts_from_when_it_was_raised_else_from_its_phase() -> None:
    known = hearing.state(DaemonTold(), state(), 130.0, "r01")
    told = hearing.alarm(known, alarm())
    assert told.alarms["bad-ft-101"] == AlarmTold("bad-ft-101", True, Phase.ACK, Priority.MEDIUM, "c", "a", 100.0, "r")
    assert hearing.alarm(known, alarm(raised_wall_s=None)).alarms["bad-ft-101"].since_s == 120.0
    assert told.active("bad-ft-101")
    assert not told.active("bad-ft-102")
    assert not hearing.alarm(known, alarm(active=False)).active("bad-ft-101")


def test_a_retained_alarm_that_came_before_any_clock_gets_its_time_with_it() -> None:
    early = hearing.alarm(DaemonTold(), alarm())
    placed = hearing.state(early, state(), 130.0, "r01")
    assert placed.alarms["bad-ft-101"].since_s == 100.0
    again = hearing.state(placed, state(), 130.5, "r01")
    assert again.alarms["bad-ft-101"].since_s == 100.0


def test_a_retained_state_is_as_old_as_the_first_live_message_shows() -> None:
    """It was said 600 s before we heard it: all its times lie so much further back."""
    known = hearing.alarm(hearing.state(DaemonTold(), state(), 730.0, "r01"), alarm())
    assert (known.since_s, known.latches[0].since_s, known.alarms["bad-ft-101"].since_s) == (670.0, 690.0, 700.0)
    snapshot = envelope.Telemetry(
        simulated=True, boot_id="b", seq=1, wall_s=WALL_S + 701.0, wall_synced=True, mono_s=5.0, points={}
    )
    live = hearing.telemetry(known, snapshot, 731.0)
    assert (live.since_s, live.latches[0].since_s, live.alarms["bad-ft-101"].since_s) == (70.0, 90.0, 100.0)
    assert live.offset_s == 30.0 - WALL_S
    later = hearing.telemetry(live, snapshot.model_copy(update={"wall_s": WALL_S + 701.9}), 731.0)
    assert later.since_s == 70.0, "a little jitter moves nothing"
    back = hearing.telemetry(live, snapshot.model_copy(update={"wall_s": WALL_S + 101.0}), 731.0)
    assert back.since_s == 70.0


def test_a_cleared_alarm_is_gone() -> None:
    told = hearing.alarm(DaemonTold(), alarm())
    assert hearing.cleared(told, "other").alarms.keys() == {"bad-ft-101"}
    assert hearing.cleared(told, "bad-ft-101").alarms == {}


@pytest.mark.parametrize(
    ("phase", "hidden"), [(Phase.SHELVED, True), (Phase.OUT_OF_SERVICE, True), (Phase.UNACK, False)]
)
def test_a_shelved_alarm_is_hidden(phase: Phase, hidden: bool) -> None:
    assert hearing.alarm(DaemonTold(), alarm(state=phase)).alarms["bad-ft-101"].hidden is hidden


def test_availability_says_whether_it_is_there() -> None:
    birth = envelope.Availability(simulated=True, status="online", version="1", boot_id="b", since_wall_s=WALL_S)
    assert hearing.availability(DaemonTold(), birth).online is True
    assert hearing.availability(DaemonTold(), birth.model_copy(update={"status": "offline"})).online is False


def test_a_daemon_is_heard_while_all_three_messages_say_so() -> None:
    good = DaemonTold(online=True, state_s=1.0, heard_s=100.0)
    assert Sight(100.0 + TOLD_S, good).hears_valvey
    assert not Sight(100.1 + TOLD_S, good).hears_valvey
    for change in ({"online": None}, {"online": False}, {"state_s": None}, {"heard_s": None}):
        assert not Sight(100.0, replace(good, **change)).hears_valvey
    assert Sight(100.0, DaemonTold(), good).hears_loop
    assert not Sight(100.0, good).hears_loop


def test_what_is_told_is_believed_only_from_a_daemon_that_is_heard() -> None:
    points = {"TT-201": Reading("TT-201", 40.0, Unit.DEG_C, Quality.GOOD, 99.0)}
    good = DaemonTold(online=True, state_s=1.0, heard_s=100.0, points=points)
    assert Sight(100.0, good).guarded("TT-201") == 40.0
    assert Sight(100.0, DaemonTold(), good).looped("TT-201") == 40.0
    assert Sight(100.0, replace(good, online=False)).guarded("TT-201") is None
    assert Sight(100.0, good).guarded("TT-202") is None
    assert Sight(104.5, good).guarded("TT-201") is None


def test_own_readings_are_believed_within_their_age() -> None:
    readings = {
        "ZS-110": Reading("ZS-110", 1.0, Unit.NONE, Quality.GOOD, 99.0),
        "ZS-111": Reading("ZS-111", 1.0, Unit.NONE, Quality.GOOD, 1.0),
    }
    sight = Sight(100.0, DaemonTold(), readings=readings, max_age_s={"ZS-110": 1.0, "ZS-111": 1.0, "ZS-112": 1.0})
    assert (sight.number("ZS-110"), sight.on("ZS-110")) == (1.0, True)
    assert (sight.number("ZS-111"), sight.on("ZS-111")) == (None, None)
    assert sight.lost() == ("ZS-111", "ZS-112")
    assert Sight(100.0, DaemonTold(), readings=readings).number("ZS-110") is None


@pytest.mark.parametrize("status", ["refused", "succeeded", "failed", "cancelled", "expired"])
def test_an_answer_ends_an_ask(status: str) -> None:
    assert AskTold("k", status, 1.0).ended
    assert not AskTold("k", "progress", 1.0).ended

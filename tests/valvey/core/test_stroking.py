"""The partial stroke in service: commanded once, judged by what is seen and by its device, and no trip for two seconds."""

from dataclasses import replace
from typing import Any

import pytest

from tests.plant import PaperRack, flowing
from tests.stored import reread
from tests.valvey.core.bench import alarms, last
from valvey.core import stroking
from valvey.core.adoption import new_boot
from valvey.core.chart import Event, State, Step
from valvey.core.enter import enter
from valvey.core.facts import FactKind
from valvey.core.memory import STROKE_S, Lock, Stroke
from valvey.core.view import View

TAGS = frozenset(stroking.TAGS)
OTHER = {"101": "102", "102": "101"}


def ready(**changes: Any) -> PaperRack:
    """A rack in service whose valve controller times partial strokes, the last one long ago and passed."""
    rack = flowing(stroke_tags=TAGS, **changes)
    rack.values |= {"XKI-101": 0.0, "XKP-101": 1.0, "XKF-101": 0.0}
    return rack.run(0.1)


def fields(rack: PaperRack) -> tuple[str, str]:
    ended = last(rack, FactKind.ENDED).fields
    return ended["status"], ended["reason"]


def outcome(rack: PaperRack) -> str | None:
    assert rack.memory.stroke is not None
    return rack.memory.stroke.outcome


def begin(rack: PaperRack, number: str = "101") -> PaperRack:
    """Ask for it; the scan that accepts it writes it."""
    answer = rack.ask("stroke", valve=f"XV-{number}")
    assert answer.fields["status"] == "accepted", dict(answer.fields)
    return rack


def leaving(rack: PaperRack, number: str = "101") -> PaperRack:
    """The device has dropped the coil and the open limit has broken."""
    rack.follow = False
    rack.values |= {"XKI-101": 1.0, "XKP-101": 0.0, f"XY-{number}": 0.0, f"ZSO-{number}": 0.0}
    return rack


def back(rack: PaperRack, number: str = "101", passed: bool = True) -> PaperRack:
    rack.values |= {"XKI-101": 0.0, "XKP-101": float(passed), "XKF-101": float(not passed)}
    rack.values |= {f"XY-{number}": 1.0, f"ZSO-{number}": 1.0}
    return rack


@pytest.mark.parametrize(("number", "value"), [("101", 1.0), ("102", 2.0)])
def test_it_is_written_in_one_scan_only(number: str, value: float) -> None:
    rack = begin(ready(), number)
    assert rack.scans[-1].outputs.xk_101 == value
    assert rack.writes["XK-101"] == value
    assert last(rack, FactKind.STROKE).fields["valve"] == f"XV-{number}"
    for _ in range(60):
        rack.scan()
        assert rack.scans[-1].outputs.xk_101 is None
        assert "XK-101" not in rack.writes


@pytest.mark.parametrize("number", ["101", "102"])
def test_a_valve_that_leaves_its_open_limit_and_comes_back_has_passed(number: str) -> None:
    rack = leaving(begin(ready(), number), number).run(0.4)
    assert (rack.state, rack.latched, outcome(rack)) == (State.FLOWING, (), None)
    assert rack.writes[f"XV-{number}"] == 1.0  # the command stands; the device drops and raises the coil
    rack.values |= {f"XY-{number}": 1.0}
    rack.run(0.3)
    assert outcome(rack) is None
    back(rack, number).scan()
    assert outcome(rack) == "passed"
    assert fields(rack) == ("succeeded", "")
    rack.run(5.0)
    assert (rack.state, rack.latched) == (State.FLOWING, ())
    assert "stroke-failed" not in alarms(rack)


def test_what_the_device_said_of_the_last_test_passes_no_other() -> None:
    rack = begin(ready()).run(STROKE_S - 0.1)
    assert outcome(rack) is None
    rack.run(0.15)
    assert outcome(rack) == "not_begun"
    assert fields(rack)[0] == "failed"
    assert "did not begin" in fields(rack)[1]
    assert "stroke-failed" in alarms(rack)


def test_the_device_alone_may_have_seen_the_limit_break() -> None:
    rack = begin(ready())
    rack.values |= {"XKI-101": 1.0, "XKP-101": 0.0}
    rack.scan()
    rack.values |= {"XKI-101": 0.0, "XKP-101": 1.0}
    rack.scan()
    assert outcome(rack) == "passed"


def test_a_limit_that_was_seen_to_break_is_enough_to_know_that_it_began() -> None:
    rack = begin(ready())
    rack.values |= {"ZSO-101": 0.0, "XKP-101": 0.0}
    rack.scan()
    assert outcome(rack) is None
    back(rack).scan()
    assert outcome(rack) == "passed"


def test_a_device_that_says_passed_is_not_believed_before_the_limit_is_seen_to_be_back() -> None:
    rack = leaving(begin(ready())).run(0.2)
    rack.values |= {"XKI-101": 0.0, "XKP-101": 1.0}
    rack.scan()
    assert outcome(rack) is None
    rack.values |= {"ZSO-101": 1.0, "XY-101": 1.0}
    rack.scan()
    assert outcome(rack) == "passed"


def test_a_valve_that_does_not_move_has_failed_by_its_device_or_by_the_time() -> None:
    rack = begin(ready())
    rack.values |= {"XKI-101": 1.0, "XKP-101": 0.0}
    rack.run(0.6)
    rack.values |= {"XKI-101": 0.0, "XKF-101": 1.0}
    rack.run(0.1)
    assert outcome(rack) == "failed"
    silent = begin(ready())
    silent.values |= {"XKI-101": 1.0, "XKP-101": 0.0}
    silent.run(STROKE_S + 0.1)
    assert outcome(silent) == "not_left"


def test_a_valve_that_does_not_come_back_fails_and_trips_as_ever_after_two_seconds() -> None:
    rack = leaving(begin(ready())).run(STROKE_S - 0.1)
    assert (rack.state, outcome(rack)) == (State.FLOWING, None)
    rack.run(0.2)
    assert outcome(rack) == "not_back"
    rack.run(0.1)
    assert "OPEN_LOST" in rack.latched  # its coil is off still
    assert rack.state is State.ISOLATING


def test_one_that_came_back_without_a_verdict_has_failed() -> None:
    rack = leaving(begin(ready())).run(0.4)
    back(rack)
    rack.values |= {"XKP-101": 0.0, "XKF-101": None}
    rack.run(STROKE_S)
    assert outcome(rack) == "failed"


def test_a_device_that_still_runs_has_no_verdict_yet() -> None:
    rack = leaving(begin(ready())).run(0.2)
    back(rack)
    rack.values |= {"XKI-101": 1.0}
    rack.run(0.2)
    assert outcome(rack) is None
    rack.values |= {"XKI-101": None}
    rack.run(0.2)
    assert outcome(rack) is None


@pytest.mark.parametrize("number", ["101", "102"])
def test_meanwhile_the_other_valve_trips_as_ever(number: str) -> None:
    for tag, row in ((f"XY-{OTHER[number]}", "OPEN_LOST"), (f"ZSO-{OTHER[number]}", "SIF-12")):
        rack = leaving(begin(ready(), number), number)
        rack.values |= {tag: 0.0, "FT-101": 100.0, "FT-102": 100.0}
        rack.run(0.5)
        assert row in rack.latched


@pytest.mark.parametrize("number", ["101", "102"])
def test_meanwhile_its_own_open_limit_is_no_demand_even_with_little_flow(number: str) -> None:
    rack = leaving(begin(ready(), number), number)
    rack.values |= {"FT-101": 100.0, "FT-102": 100.0}
    rack.run(1.0)
    assert (rack.state, rack.latched) == (State.FLOWING, ())


def test_a_valve_that_shuts_wholly_isolates_the_rack_also_during_a_stroke() -> None:
    rack = leaving(begin(ready()))
    rack.values["ZSC-101"] = 1.0
    rack.run(1.1)
    assert "OPEN_LOST" in rack.latched
    assert rack.state is State.ISOLATING


@pytest.mark.parametrize(("name", "after"), [("dark", State.COOLDOWN), ("emergency_stop", State.ESD)])
def test_a_trip_wins_over_a_stroke(name: str, after: State) -> None:
    rack = leaving(begin(ready()))
    rack.ask(name)
    rack.scan()
    assert rack.state is after
    assert rack.writes["XV-101"] == float(after is State.COOLDOWN)
    assert outcome(rack) == "interrupted"
    assert fields(rack)[0] == "failed"
    assert "stroke-failed" not in alarms(rack.run(0.2))


def test_a_trip_of_the_same_scan_lets_nothing_be_stroked() -> None:
    rack = ready()
    rack.values["HS-101"] = 1.0
    answer = rack.ask("stroke", valve="XV-101")
    assert answer.fields["code"] == "overtaken"
    assert "XK-101" not in rack.writes


# --- what forbids it -----------------------------------------------------------------------------------------------------


def refusal(rack: PaperRack, valve: str = "XV-101") -> tuple[str, str, str]:
    answer = rack.ask("stroke", valve=valve).fields
    assert answer["status"] == "refused"
    assert "XK-101" not in rack.writes
    return answer["code"], answer["reason"], answer["allow"]


@pytest.mark.parametrize("missing", sorted(TAGS))
def test_without_such_firmware_it_is_refused_with_what_to_do_instead(missing: str) -> None:
    rack = flowing(stroke_tags=TAGS - {missing})
    code, reason, allow = refusal(rack)
    assert code == "partial_stroke"
    assert f"{missing} not in the file" in reason
    assert "'test' in ISOLATED" in allow


@pytest.mark.parametrize("valve", ["XV-103", "101", "", "xv-101"])
def test_only_the_isolation_valves_are_stroked(valve: str) -> None:
    assert refusal(ready(), valve)[0] == "args"


@pytest.mark.parametrize("tag", ["XKI-101", "XKP-101", "XKF-101"])
def test_what_cannot_be_watched_is_not_begun(tag: str) -> None:
    rack = ready()
    rack.values[tag] = None
    assert refusal(rack) == ("partial_stroke", f"{tag} cannot be believed", f"good readings of {tag}")


def test_one_at_a_time() -> None:
    rack = leaving(begin(ready()))
    assert refusal(rack, "XV-102")[1] == "a stroke test is running"
    foreign = ready()
    foreign.values["XKI-101"] = 1.0
    assert refusal(foreign)[1] == "a stroke test is running"


def test_not_under_a_lock_or_a_latch() -> None:
    rack = ready()
    rack.memory = replace(rack.memory, locks=(Lock("anna", "x", rack.now_s),))
    assert refusal(rack)[0] == "no_lock"
    told = ready()
    told.values["ET-101"] = 130.0
    told.memory = replace(told.memory, latches=flowing_latch())
    assert refusal(told)[0] == "no_latch"


def flowing_latch() -> Any:
    from valvey.core.memory import Effect, Latch

    return (Latch("MEM", "MEM", Effect.NONE, 0.0, 0.0),)


def test_not_beside_an_isolation_that_waits() -> None:
    rack = ready()
    view = View(rack.readings(), replace(rack.memory, isolate_wanted=True), rack.limits, rack.now_s)
    assert stroking_refusal(view) == "an isolation is under way"


def stroking_refusal(view: View) -> str:
    from valvey.core.permissives import partial_stroke

    forbids = partial_stroke(view)
    assert forbids is not None
    return forbids[0]


@pytest.mark.parametrize("tag", ["ZSO-101", "ZSO-102", "XY-101", "XY-102"])
def test_not_unless_both_valves_are_proven_open(tag: str) -> None:
    rack = ready()
    for value in (0.0, None):
        rack.values[tag] = value
        view = View(rack.readings(), rack.memory, rack.limits, rack.now_s)
        assert stroking_refusal(view) == "the isolation valves are not proven open"


# --- what is remembered ----------------------------------------------------------------------------------------------


def test_a_restart_in_the_middle_waits_for_the_valve_and_forgets_the_test() -> None:
    rack = leaving(begin(ready())).run(0.2)
    rack.memory = reread(rack.memory)
    rack.restart()
    rack.run(0.5)
    assert rack.state is State.STARTUP  # a coil that is off for a moment is no reason to shut the rack
    assert outcome(rack) == "interrupted"
    back(rack)
    rack.run(0.2)
    assert (rack.state, rack.latched) == (State.FLOWING, ())


def test_a_device_that_says_for_ever_that_it_runs_holds_no_adoption_up() -> None:
    rack = ready()
    rack.values["XKI-101"] = 1.0
    rack.restart()
    rack.run(rack.limits.adopt_s + 0.2)
    assert rack.state is not State.STARTUP


def test_a_failed_stroke_is_alarmed_until_one_passes_or_the_full_strokes_have() -> None:
    rack = begin(ready()).run(STROKE_S + 0.2)
    assert "stroke-failed" in alarms(rack)
    begin(rack)
    leaving(rack).scan()
    back(rack).scan()
    rack.follow = True
    assert outcome(rack) == "passed"
    rack.run(1.3)
    assert "stroke-failed" not in alarms(rack)
    failed = replace(rack.memory, state=State.TESTING, stroke=Stroke("101", 0.0, outcome="failed"))
    view = View(rack.readings(), failed, rack.limits, rack.now_s)
    assert enter(view, Event.TESTED, State.ISOLATED, Step.HOLD).stroke is None
    assert enter(view, Event.CANCEL, State.ISOLATING, Step.RETURN).stroke == failed.stroke


def test_every_outcome_has_words_for_people() -> None:
    named = {"passed", "interrupted", "not_begun", "not_left", "not_back", "failed"}
    assert {name for name, text in stroking.OUTCOMES.items() if text} == named


@pytest.mark.parametrize("name", stroking.OUTCOMES)
def test_which_outcomes_are_alarmed(name: str) -> None:
    memory = replace(flowing().memory, stroke=Stroke("101", 0.0, outcome=name))
    assert list(stroking.conditions(memory)) == ([] if name in {"passed", "interrupted"} else ["stroke-failed"])
    assert list(stroking.conditions(replace(memory, stroke=None))) == []
    assert list(stroking.conditions(replace(memory, stroke=Stroke("101", 0.0)))) == []


def test_a_stroke_counts_for_two_seconds_and_only_while_it_runs() -> None:
    memory = replace(flowing().memory, stroke=Stroke("102", 100.0))
    ages_s = (-0.001, 0.0, STROKE_S, STROKE_S + 0.001)
    assert [memory.stroking(100.0 + s) for s in ages_s] == [None, "102", "102", None]
    for name in stroking.OUTCOMES:
        over = replace(memory, stroke=Stroke("102", 100.0, outcome=name))
        assert over.stroking(101.0) == ("102" if name == "interrupted" else None)  # its device knows nothing of a trip
    assert replace(memory, stroke=None).stroking(100.0) is None


def test_another_boot_has_no_stroke_under_way_but_remembers_what_the_last_one_found() -> None:
    for outcome_, left in ((None, False), ("interrupted", False), ("passed", True), ("failed", True)):
        stroke = Stroke("101", 5000.0, outcome=outcome_)
        memory = replace(flowing().memory, stroke=stroke)
        after = new_boot(memory, "another", 30.0).stroke
        assert after == (stroke if left else None)
        assert replace(memory, stroke=after).stroking(30.0) is None
    assert new_boot(replace(flowing().memory, stroke=None), "another", 30.0).stroke is None


# --- one look at a time --------------------------------------------------------------------------------------------------

JUST_BEFORE_S = STROKE_S - 0.01
#: what is remembered and seen: left, begun, open limit, runs, passed, failed, age -> left, begun, outcome
# fmt: off
SEEN: list[tuple[bool, bool, float | None, float | None, float | None, float | None, float, bool, bool, str | None]] = [
    (False, False, 1.0,  0.0,  1.0, 0.0, 0.1,           False, False, None),         # the last test's verdict
    (False, False, None, None, 1.0, 0.0, 0.1,           False, False, None),
    (False, False, 0.0,  None, 0.0, 0.0, 0.1,           True,  True,  None),
    (False, False, 0.0,  0.0,  1.0, 0.0, 0.1,           True,  True,  None),
    (False, False, 1.0,  1.0,  1.0, 0.0, 0.1,           False, True,  None),
    (True,  True,  None, None, 1.0, 0.0, 0.1,           True,  True,  None),
    (True,  False, 1.0,  None, 1.0, 0.0, 0.1,           True,  True,  None),
    (False, True,  1.0,  None, 1.0, 0.0, 0.1,           False, True,  None),         # it may run still
    (False, True,  None, 0.0,  1.0, 0.0, 0.1,           False, True,  None),         # it may not be back
    (False, True,  0.0,  0.0,  1.0, 0.0, 0.1,           True,  True,  None),
    (False, True,  1.0,  0.0,  0.0, 0.0, 0.1,           False, True,  None),         # no verdict yet
    (False, True,  1.0,  0.0,  None, None, 0.1,         False, True,  None),
    (False, True,  1.0,  0.0,  1.0, 0.0, 0.1,           False, True,  "passed"),
    (False, True,  1.0,  0.0,  0.0, 1.0, 0.1,           False, True,  "failed"),
    (False, True,  1.0,  0.0,  1.0, 1.0, 0.1,           False, True,  "failed"),     # it says both
    (True,  False, 1.0,  0.0,  1.0, 0.0, 0.1,           True,  True,  "passed"),
    (False, False, 1.0,  0.0,  1.0, 0.0, JUST_BEFORE_S, False, False, None),
    (False, False, 1.0,  0.0,  1.0, 0.0, STROKE_S,      False, False, "not_begun"),
    (False, False, None, None, 1.0, 0.0, STROKE_S,      False, False, "not_begun"),
    (False, False, 1.0,  1.0,  1.0, 0.0, STROKE_S,      False, True,  "not_left"),
    (False, True,  None, 0.0,  1.0, 0.0, STROKE_S,      False, True,  "not_left"),
    (True,  True,  1.0,  None, 1.0, 0.0, STROKE_S,      True,  True,  "failed"),     # back, and no verdict
    (True,  True,  None, 0.0,  1.0, 0.0, STROKE_S,      True,  True,  "not_back"),
    (True,  True,  0.0,  0.0,  1.0, 0.0, STROKE_S,      True,  True,  "not_back"),
    (False, True,  1.0,  0.0,  1.0, 0.0, STROKE_S,      False, True,  "passed"),     # in the very last moment
]
# fmt: on


@pytest.mark.parametrize(
    ("left", "begun", "is_open", "runs", "passed", "failed", "age_s", "left_then", "begun_then", "ended"), SEEN
)
@pytest.mark.parametrize("number", ["101", "102"])
def test_what_one_look_at_a_stroke_makes_of_it(
    number: str, left: bool, begun: bool, is_open: float | None, runs: float | None, passed: float | None,
    failed: float | None, age_s: float, left_then: bool, begun_then: bool, ended: str | None,
) -> None:  # fmt: skip
    rack = flowing(stroke_tags=TAGS)
    rack.values |= {"XKI-101": runs, "XKP-101": passed, "XKF-101": failed}
    rack.values |= {f"ZSO-{number}": is_open, f"ZSO-{OTHER[number]}": 1.0}
    before = Stroke(number, rack.now_s - age_s, left=left, begun=begun)
    view = View(rack.readings(), replace(rack.memory, stroke=before), rack.limits, rack.now_s)
    after = stroking.follow(view).stroke
    assert after is not None
    assert (after.left, after.begun, after.outcome) == (left_then, begun_then, ended)

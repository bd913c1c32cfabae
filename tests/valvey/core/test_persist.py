"""The memory as bytes: everything comes back, and nothing comes back from half a document."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldkit.alarm import AlarmState, Phase
from fieldkit.request import Answered
from tests.stored import reread
from valvey.core import persist
from valvey.core.alarm_rows import row_of
from valvey.core.chart import State, Step
from valvey.core.leasing import Act, Ask, Leasing
from valvey.core.memory import FORMAT, Bypass, Effect, Inventory, Latch, Lock, Memory, Pending, Sighting, Waiting
from valvey.core.verdict import Timer, Verdict

TIMES = st.floats(-1e9, 1e9)
MAYBE = st.none() | TIMES
TEXTS = st.text(max_size=12)
SEQUENCES: dict[str, st.SearchStrategy[Any]] = {
    "timers": st.dictionaries(TEXTS, st.builds(Timer, st.sampled_from(Verdict), TIMES, TIMES, st.booleans())),
    "latches": st.lists(
        st.builds(Latch, TEXTS, TEXTS, st.sampled_from(Effect), TIMES, TIMES, TEXTS, MAYBE, MAYBE, TIMES)
    ).map(tuple),
    "locks": st.lists(st.builds(Lock, TEXTS, TEXTS, TIMES, TEXTS)).map(tuple),
    "bypasses": st.lists(st.builds(Bypass, TEXTS, TEXTS, TEXTS, TIMES, TIMES)).map(tuple),
    "sightings": st.dictionaries(TEXTS, st.builds(Sighting, TIMES, st.integers(0, 99))),
    "pending": st.lists(st.builds(Pending, TEXTS, TEXTS, TEXTS, TIMES)).map(tuple),
    "answered": st.lists(st.builds(Answered, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS)).map(tuple),
    "evidence_s": st.dictionaries(TEXTS, TIMES),
    "starts_s": st.lists(TIMES).map(tuple),
    "header_ref_kpa": st.none() | st.tuples(TIMES, TIMES),
    "was": st.none() | st.sampled_from(State),
    "state": st.sampled_from(State),
    "step": st.sampled_from(Step),
    "inventory": st.sampled_from(Inventory),
    "shut_since_s": MAYBE,
    "grant": st.none() | TEXTS,
    "leasing": st.builds(
        Leasing,
        st.integers(0, 2**40),
        st.integers(0, 99),
        st.none() | TEXTS,
        st.dictionaries(TEXTS, TIMES | TEXTS),
        TIMES,
        st.none() | TEXTS,
        TIMES,
        st.lists(
            st.builds(
                Ask, TEXTS, st.sampled_from(Act), TEXTS, st.none() | TEXTS, st.integers(0, 99), st.just({}), TIMES
            )
        ).map(tuple),
        st.none() | st.tuples(TEXTS, st.none() | TEXTS),
        TIMES,
        st.none() | st.tuples(TEXTS, TEXTS),
    ),
    "waiting": st.none()
    | st.builds(
        Waiting,
        TEXTS,
        TEXTS,
        TEXTS,
        TEXTS,
        st.dictionaries(TEXTS, st.booleans() | TIMES | TEXTS),
        TEXTS,
        TEXTS,
        st.none() | st.integers(0, 99),
        TIMES,
    ),
    "fcv_pct": TIMES,
    "state_seq": st.integers(0, 2**40),
}


def an_alarm(name: str, **fields: Any) -> AlarmState:
    row = row_of(name)
    assert row is not None
    return AlarmState(row, **fields)


ALARMS = {
    "trip-sif-4": an_alarm(
        "trip-sif-4", phase=Phase.UNACK, active=True, latched=True, since_s=5.0, raised_s=5.0, count=2
    ),
    "disarmed": an_alarm("disarmed", phase=Phase.SHELVED, by="ann", why="known", until_s=90.0),
}


ONE_FIELD = st.sampled_from(sorted(SEQUENCES)).flatmap(lambda name: st.tuples(st.just(name), SEQUENCES[name]))


@given(ONE_FIELD, ONE_FIELD)
def test_every_memory_comes_back_as_it_was(first: tuple[str, Any], second: tuple[str, Any]) -> None:
    memory = Memory(**{first[0]: first[1], second[0]: second[1]}, alarms=ALARMS)
    assert reread(memory) == memory


@given(st.lists(st.builds(Answered, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS)))
def test_answers_may_be_kept_apart_one_by_one(answers: list[Answered]) -> None:
    memory = Memory(answered=tuple(answers))
    bare = persist.from_dict(persist.to_dict(memory))
    assert bare.answered == ()
    assert persist.with_answers(bare, [persist.dump_answered([one]) for one in answers]) == memory


def test_every_field_of_the_memory_is_written() -> None:
    assert set(persist.to_dict(Memory())) == set(Memory.__dataclass_fields__) - {"answered"}


def test_an_alarm_of_which_this_version_knows_no_row_is_forgotten() -> None:
    document = persist.to_dict(replace(Memory(), alarms=ALARMS))
    document["alarms"][0]["id"] = "of-a-later-version"
    assert set(persist.from_dict(document).alarms) == {"disarmed"}


OLD: dict[str, Any] = json.loads((Path(__file__).parents[2] / "data" / "memory_format_1.json").read_bytes())


def test_the_memory_of_an_older_format_is_read_and_what_it_did_not_have_yet_is_as_in_a_new_one() -> None:
    memory = persist.from_dict(OLD)
    assert (memory.format, memory.state, memory.state_seq) == (FORMAT, State.ISOLATED, 6)
    assert [latch.sif for latch in memory.latches] == ["SIF-1"]
    assert [lock.owner for lock in memory.locks] == ["ann"]
    assert (len(memory.alarms), len(memory.answered)) == (1, 0)
    new, later = Memory(), set().union(*persist.BROUGHT.values())
    assert {name: getattr(memory, name) for name in later} == {name: getattr(new, name) for name in later}
    assert reread(memory) == memory


def edited(**changes: Any) -> dict[str, Any]:
    document = persist.to_dict(replace(Memory(), alarms=ALARMS))
    return {name: value for name, value in (document | changes).items() if value is not ...}


@pytest.mark.parametrize(
    ("document", "what"),
    [
        ([1], "list, not an object"),
        ({}, "format None"),
        (edited(format=FORMAT + 1), f"reads formats 1 to {FORMAT}"),
        (edited(format=0), "format 0"),
        (edited(format=1), "unknown ['leasing', "),
        (edited(leasing=...), "missing ['leasing']"),
        ({**OLD, "lock": OLD["locks"]}, "unknown ['lock']"),
        (edited(locks=...), "missing ['locks']"),
        (edited(alarms=...), "missing ['alarms']"),
        (edited(later=1), "unknown ['later']"),
        (edited(state="OPEN"), "state"),
        (edited(since_s="soon"), "since_s"),
        (edited(latches=[{"sif": "SIF-1"}]), "latches.0"),
        (edited(alarms=[{"phase": "UNACK"}]), "alarms"),
        (edited(alarms=7), "alarms"),
        (edited(alarms=[{"id": "disarmed"}]), "not whole"),
    ],
)
def test_what_is_not_whole_is_refused_with_its_place(document: object, what: str) -> None:
    with pytest.raises(ValueError, match=r"memory|alarm") as caught:
        persist.from_dict(document)
    assert what in str(caught.value)


def test_answers_that_cannot_be_read_are_refused() -> None:
    with pytest.raises(ValueError, match="answers of the memory"):
        persist.with_answers(Memory(), [b"[1]"])

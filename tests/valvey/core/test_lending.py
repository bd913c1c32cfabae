"""What leave is wanted for, what is heard, and what is said of it: each rule alone."""

from dataclasses import replace

import pytest

from tests.plant import limits
from valvey.core import lending
from valvey.core.chart import State, Step
from valvey.core.facts import FactKind
from valvey.core.leasing import Act, Answer, Ask, Leasing, turn
from valvey.core.lending import ALONE, SILENT, WAIT_S, WAITS, coordinated, remark, settle, wanted
from valvey.core.limits import Limits
from valvey.core.memory import Memory, Waiting
from valvey.core.view import View

S = State
NOW_S = 100.0
ASK = Ask("a", Act.ASK, "open", None, 3, {}, 90.0)
RENEWAL = Ask("r", Act.RENEW, "open", "g", 3, {}, 95.0)
ASKING = Leasing(epoch=3, number=1, work="open", since_s=90.0, sent=(ASK,), next_s=93.0)
HOLDING = Leasing(epoch=3, number=2, work="open", grant_id="g", until_s=120.0, sent=(RENEWAL,), next_s=105.0)
YES = Answer("a", True, "g", 4, 30.0, "open")
NO = Answer("a", False, None, 4, 0.0, "open", "busy", "wait")
WAITING = Waiting("1", "fill", "operator", "ann", {}, "", "", 3, 99.0)


def view(memory: Memory, *, coordinator: bool = True, now_s: float = NOW_S) -> View:
    return View({}, memory, limits(coordinator=coordinator, name="demo/r03", volume_l=33.0), now_s)


def told(memory: Memory, *answers: Answer, now_s: float = NOW_S) -> tuple[Memory, list[dict[str, object]]]:
    memory, facts = lending.hear(memory, answers, now_s)
    assert {(fact.kind, fact.at_s) for fact in facts} <= {(FactKind.LEASE, now_s)}
    return memory, [dict(fact.fields) for fact in facts]


# --- heard -----------------------------------------------------------------------------------------------------------------


def test_with_nothing_heard_and_nothing_over_the_memory_stays_the_same() -> None:
    for memory in (Memory(), Memory(leasing=HOLDING, grant="g")):
        after, facts = told(memory)
        assert after is memory
        assert facts == []


def test_a_grant_counts_from_the_scan_that_hears_it() -> None:
    after, facts = told(Memory(leasing=ASKING), YES)
    assert (after.grant, after.leasing.grant_id, after.leasing.until_s) == ("g", "g", 120.0)
    assert facts == [{"what": "granted", "work": "open", "id": "g", "epoch": 4, "ttl_s": 30.0}]


def test_a_renewal_is_no_news() -> None:
    after, facts = told(Memory(leasing=HOLDING, grant="g"), replace(YES, ask_id="r", epoch=3))
    assert (after.grant, after.leasing.until_s, facts) == ("g", 125.0, [])


def test_a_refused_renewal_takes_the_grant_and_says_why() -> None:
    after, facts = told(Memory(leasing=HOLDING, grant="g"), replace(NO, ask_id="r", epoch=5))
    assert (after.grant, after.leasing.grant_id) == (None, None)
    assert facts == [{"what": "lost", "work": "open", "id": "g", "epoch": 3, "reason": "busy"}]


def test_a_refusal_is_told_once_for_each_reason() -> None:
    after, facts = told(Memory(leasing=ASKING), NO)
    assert facts == [{"what": "refused", "work": "open", "id": None, "epoch": 4, "reason": "busy", "allow": "wait"}]
    again = replace(after, leasing=replace(after.leasing, sent=(replace(ASK, ask_id="b"),)))
    assert told(again, replace(NO, ask_id="b", would_allow="wait longer"))[1] == []
    assert [one["reason"] for one in told(again, replace(NO, ask_id="b", reason="flow is short"))[1]] == [
        "flow is short"
    ]


def test_a_lower_epoch_is_told_once_for_each() -> None:
    memory = Memory(leasing=ASKING)
    after, facts = told(memory, replace(YES, epoch=2), replace(YES, epoch=2), replace(YES, epoch=1))
    assert facts == [
        {"what": "lower_epoch", "work": "open", "id": None, "epoch": 3, "answered": 2},
        {"what": "lower_epoch", "work": "open", "id": None, "epoch": 3, "answered": 1},
    ]
    assert (after.grant, after.leasing) == (None, replace(ASKING, lower=1))


def test_a_lease_lapses_at_its_end_and_not_before() -> None:
    memory = Memory(leasing=HOLDING, grant="g")
    assert told(memory, now_s=119.99) == (memory, [])
    after, facts = told(memory, now_s=120.0)
    assert facts == [{"what": "lapsed", "work": "open", "id": "g", "epoch": 3}]
    assert after.grant is None
    assert told(after, now_s=121.0) == (after, [])


def test_a_lease_that_was_never_held_does_not_lapse() -> None:
    assert told(Memory(leasing=HOLDING), now_s=130.0)[1] == []


def test_a_lease_that_is_lost_and_over_in_one_scan_is_told_as_lost() -> None:
    memory = Memory(leasing=HOLDING, grant="g")
    assert [one["what"] for one in told(memory, replace(NO, ask_id="r"), now_s=121.0)[1]] == ["lost"]


# --- wanted ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "fields", "work"),
    [
        (S.ISOLATED, {}, None),
        (S.ISOLATED, {"grant": "g"}, None),
        (S.ISOLATED, {"waiting": WAITING}, "fill"),
        (S.FLOWING, {"grant": "g", "leased": True}, None),
        (S.UNLOADING, {}, "isolate"),
        (S.UNLOADING, {"emergency": True}, "isolate"),
        (S.COOLDOWN, {}, None),
        (S.COOLDOWN, {"isolate_wanted": True}, "isolate"),
        (S.FLOWING, {"isolate_wanted": True}, None),
        *((state, {"grant": "g", "leased": True}, "open") for state in (S.OPENING, S.DRAINING, S.FILLING, S.TESTING)),
        *((state, {"grant": "g"}, None) for state in (S.OPENING, S.DRAINING, S.FILLING, S.TESTING)),
        *((state, {"leased": True}, None) for state in (S.OPENING, S.DRAINING, S.FILLING, S.TESTING)),
        *((state, {"grant": "g"}, "open") for state in (S.STARTUP, S.ISOLATING)),
        *((state, {"grant": "g", "emergency": True}, "open") for state in (S.STARTUP, S.ISOLATING)),
        *((state, {}, None) for state in (S.STARTUP, S.ISOLATING)),
        (S.DRAINED, {"grant": "g"}, None),
        (S.ESD, {"grant": "g"}, None),
    ],
)
def test_a_lease_is_wanted_for_what_the_rack_is_doing(
    state: State, fields: dict[str, object], work: str | None
) -> None:
    assert wanted(replace(Memory(state=state, leasing=HOLDING), **fields)) == work  # type: ignore[arg-type]


@pytest.mark.parametrize(("emergency", "work"), [(False, "isolate"), (True, None)])
@pytest.mark.parametrize("state", [S.STARTUP, S.ISOLATING])
def test_shutting_asks_on_for_its_isolation_but_not_in_an_emergency(
    state: State, emergency: bool, work: str | None
) -> None:
    leasing = replace(ASKING, work="isolate")
    assert wanted(Memory(state=state, leasing=leasing, emergency=emergency)) == work
    assert wanted(Memory(state=S.ISOLATED, leasing=leasing)) is None


# --- said ------------------------------------------------------------------------------------------------------------------


def test_a_rack_without_a_coordinator_says_nothing() -> None:
    memory = Memory(state=S.UNLOADING, step=Step.UNLOAD)
    assert settle(view(memory, coordinator=False)) == (memory, (), [])


def test_a_rack_has_no_name_and_no_coordinator_unless_its_file_says_so() -> None:
    assert (Limits().name, Limits().coordinator) == ("", False)


def test_nothing_to_say_leaves_the_memory_the_same() -> None:
    memory = Memory(state=S.FLOWING)
    after, asks, facts = settle(view(memory))
    assert after is memory
    assert (asks, facts) == ((), [])


@pytest.mark.parametrize(
    ("work", "args"), [("open", {}), ("test", {}), ("drain", {"volume_l": 33.0}), ("fill", {"volume_l": 33.0})]
)
def test_what_waits_is_asked_for_at_once_under_an_id_of_this_rack_and_boot(work: str, args: dict[str, float]) -> None:
    memory = Memory(state=S.ISOLATED, waiting=replace(WAITING, name=work), boot_id="boot-9")
    after, (ask,), facts = settle(view(memory))
    assert (ask.act, ask.work, ask.args, ask.sent_s, facts) == (Act.ASK, work, args, NOW_S, [])
    assert (after.leasing.work, after.leasing.since_s, after.leasing.sent) == (work, NOW_S, (ask,))
    same = turn(replace(Leasing(), work=work, args=args, since_s=NOW_S, next_s=NOW_S), "demo/r03/boot-9", NOW_S)[1]
    assert same == (ask,)


def test_what_is_not_wanted_any_more_is_given_back_and_told_if_it_was_held() -> None:
    memory = Memory(state=S.FLOWING, leasing=HOLDING, grant="g")
    after, (ask,), (fact,) = settle(view(memory))
    assert (ask.act, ask.work, ask.grant_id) == (Act.GIVE_BACK, "open", "g")
    assert (after.grant, after.leasing.work) == (None, None)
    assert (fact.kind, fact.at_s) == (FactKind.LEASE, NOW_S)
    assert fact.fields == {"what": "given_back", "work": "open", "id": "g", "epoch": 3}
    _, (back,), facts = settle(view(Memory(state=S.FLOWING, leasing=ASKING)))
    assert (back.act, back.grant_id, facts) == (Act.GIVE_BACK, None, [])


def test_a_lease_that_ran_out_in_work_that_goes_on_is_asked_for_anew() -> None:
    leasing = replace(HOLDING, work="isolate", until_s=NOW_S)
    memory = Memory(state=S.UNLOADING, step=Step.UNLOAD, leasing=leasing)
    after, (ask,), (fact,) = settle(view(memory))
    assert (ask.act, ask.work, after.grant, after.uncoordinated) == (Act.ASK, "isolate", None, True)
    assert fact.kind is FactKind.UNCOORDINATED
    assert fact.fields["reason"] == "the lease ran out: the coordinator did not answer in time"


ISOLATING = Leasing(work="isolate", since_s=NOW_S - 5.0, next_s=NOW_S + 50.0)


@pytest.mark.parametrize(
    ("state", "step", "before", "after"),
    [
        (S.UNLOADING, Step.ASK, False, False),
        (S.UNLOADING, Step.UNLOAD, False, True),
        (S.UNLOADING, Step.UNLOAD, True, True),
        (S.COOLDOWN, Step.COOL, False, False),
        (S.COOLDOWN, Step.COOL, True, True),
        (S.COOLDOWN, Step.RAMP, False, True),
        (S.ISOLATING, Step.SUPPLY, False, True),
        (S.ISOLATED, Step.HOLD, True, False),
    ],
)
def test_a_planned_isolation_that_goes_on_without_its_lease_says_so_once(
    state: State, step: Step, before: bool, after: bool
) -> None:
    memory = Memory(state=state, step=step, leasing=ISOLATING, isolate_wanted=state is S.COOLDOWN, uncoordinated=before)
    done, _, facts = settle(view(memory))
    assert done.uncoordinated is after
    assert [(fact.kind, fact.fields) for fact in facts] == (
        [(FactKind.UNCOORDINATED, {"work": "isolate", "reason": SILENT[0], "allow": SILENT[1]})]
        if after and not before
        else []
    )
    held = replace(memory, leasing=replace(ISOLATING, grant_id="g", until_s=NOW_S + 20.0), grant="g")
    done, _, facts = settle(view(held))
    assert (done.uncoordinated, [fact for fact in facts if fact.kind is FactKind.UNCOORDINATED]) == (False, [])


def test_the_coordinators_reason_goes_with_it() -> None:
    memory = Memory(
        state=S.COOLDOWN, step=Step.RAMP, isolate_wanted=True, leasing=replace(ISOLATING, refusal=("busy", "wait"))
    )
    (fact,) = settle(view(memory))[2]
    assert (fact.fields["reason"], fact.fields["allow"], fact.at_s) == ("busy", "wait", NOW_S)


def test_other_work_without_a_lease_is_not_called_uncoordinated() -> None:
    memory = Memory(state=S.ISOLATING, step=Step.SUPPLY, leasing=replace(HOLDING, sent=()), grant="g")
    assert not settle(view(memory))[0].uncoordinated
    assert not settle(view(replace(memory, grant=None)))[0].uncoordinated


# --- waited ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("now_s", "may"), [(NOW_S, False), (NOW_S + 4.99, False), (NOW_S - 5.0 + WAIT_S, True)])
def test_a_planned_isolation_may_go_on_after_ten_seconds(now_s: float, may: bool) -> None:
    memory = Memory(state=S.UNLOADING, step=Step.ASK, leasing=ISOLATING)
    assert coordinated(view(memory, now_s=now_s)) is may
    assert remark(view(memory, now_s=now_s)) == ("" if may else WAITS)
    assert coordinated(view(replace(memory, grant="g"), now_s=now_s))
    assert coordinated(view(memory, coordinator=False, now_s=now_s))


def test_what_a_client_is_told_of_the_coordinator() -> None:
    cool = Memory(state=S.COOLDOWN, step=Step.COOL, leasing=ISOLATING)
    assert remark(view(cool)) == WAITS
    assert remark(view(replace(cool, grant="g"))) == ""
    assert remark(view(replace(cool, uncoordinated=True), now_s=NOW_S + 5.0)) == ALONE
    assert remark(view(replace(cool, state=S.UNLOADING, step=Step.UNLOAD))) == ""
    assert remark(view(replace(cool, state=S.UNLOADING, step=Step.UNLOAD, uncoordinated=True))) == ALONE

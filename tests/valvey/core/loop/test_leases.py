"""Leases: one at a time, freed late, adopted after a start, never by a coordinator that has been replaced."""

import pytest

from tests.valvey.core.loop.paper import PaperLoop, limits
from valvey.core.chart import State
from valvey.core.leasing import Act
from valvey.core.loop.facts import LoopFactKind
from valvey.core.loop.leases import adopting
from valvey.core.loop.memory import LoopMemory
from valvey.core.loop.seen import GrantSeen
from valvey.core.loop.step import LoopState, state_of

TTL_S, GRACE_S = 30.0, 5.0


@pytest.fixture
def loop() -> PaperLoop:
    return PaperLoop().settled()


def test_a_lease_is_granted_with_its_time_and_epoch(loop: PaperLoop) -> None:
    reply = loop.say("r1", "isolate")
    assert (reply.granted, reply.id, reply.epoch, reply.ttl_s) == (True, "cdu1-1-1", 1, TTL_S)
    assert [held.work for held in loop.memory.leases.values()] == ["isolate"]


def test_asking_again_for_what_is_held_gives_the_same_lease(loop: PaperLoop) -> None:
    first, again = loop.say("r1", "isolate"), loop.say("r1", "isolate")
    assert first.id == again.id
    assert len(loop.told(LoopFactKind.GRANTED)) == 1


def test_another_work_of_the_same_rack_takes_the_place_of_the_first(loop: PaperLoop) -> None:
    first = loop.say("r1", "isolate")
    second = loop.say("r1", "drain")
    assert second.granted
    assert second.id != first.id
    assert {rack: held.work for rack, held in loop.memory.leases.items()} == {"r1": "drain"}


def test_a_lease_is_freed_ttl_and_grace_after_our_last_reply(loop: PaperLoop) -> None:
    granted = loop.say("r1", "isolate")
    loop.run(20.0)
    assert loop.say("r1", "isolate", Act.RENEW, granted.id).granted
    loop.run(TTL_S + GRACE_S - 1.0)
    assert "r1" in loop.memory.leases
    loop.run(1.5)
    assert loop.memory.leases == {}
    assert [fact.fields["id"] for fact in loop.told(LoopFactKind.LAPSED)] == [granted.id]


def test_a_lease_that_is_given_back_is_free_at_once(loop: PaperLoop) -> None:
    granted = loop.say("r1", "isolate")
    assert not loop.say("r2", "isolate").granted
    assert not loop.say("r1", "isolate", Act.GIVE_BACK, granted.id).granted
    assert loop.say("r2", "isolate").granted


def test_an_unanswered_ask_may_be_given_back_by_its_work(loop: PaperLoop) -> None:
    loop.say("r1", "isolate")
    loop.say("r1", "drain", Act.GIVE_BACK)  # another work than the one held
    loop.say("r1", "isolate", Act.GIVE_BACK, "cdu1-1-9")  # another lease
    loop.say("r2", "isolate", Act.GIVE_BACK)
    assert "r1" in loop.memory.leases
    loop.say("r1", "isolate", Act.GIVE_BACK)
    assert loop.memory.leases == {}


def test_a_renewal_of_an_unknown_lease_is_refused_once_the_start_is_over(loop: PaperLoop) -> None:
    reply = loop.say("r1", "fill", Act.RENEW, "cdu1-1-77")
    assert (reply.granted, reply.would_allow) == (False, "ask anew")


def test_a_start_grants_nothing_for_one_ttl_and_says_how_long_that_is() -> None:
    loop = PaperLoop()
    reply = loop.say("r1", "isolate")
    assert not reply.granted
    assert "just started" in reply.reason
    assert reply.would_allow.endswith("30 s")
    assert state_of(loop.memory, loop.limits, False) is LoopState.ADOPTING
    loop.run(TTL_S)
    assert loop.say("r1", "isolate").granted
    assert len(loop.told(LoopFactKind.SERVING)) == 1
    assert state_of(loop.memory, loop.limits, False) is LoopState.SERVING
    assert state_of(loop.memory, loop.limits, True) is LoopState.QUARREL


def test_a_start_adopts_any_lease_that_is_presented_under_its_own_epoch() -> None:
    loop = PaperLoop()
    reply = loop.say("r1", "drain", Act.RENEW, "cdu1-4-2", epoch=4)
    assert (reply.granted, reply.id, reply.epoch) == (True, "cdu1-4-2", 5)
    assert loop.memory.leases["r1"].adopted
    loop.run(TTL_S)
    assert not loop.say("r2", "drain").granted  # one sump
    assert loop.say("r1", "drain", Act.RENEW, "cdu1-4-2", epoch=5).granted


def test_what_is_refused_holds_for_no_time(loop: PaperLoop) -> None:
    reply = loop.say("r1", "fill", Act.RENEW, "cdu1-1-77")
    assert (reply.granted, reply.id, reply.ttl_s) == (False, None, 0.0)


def test_only_a_renewal_is_adopted_and_no_new_ask_that_names_a_lease() -> None:
    loop = PaperLoop()
    assert not loop.say("r1", "drain", Act.ASK, "cdu1-4-2", epoch=4).granted
    assert loop.memory.leases == {}


def test_a_renewal_without_a_lease_is_not_adopted() -> None:
    assert not PaperLoop().say("r1", "drain", Act.RENEW, None).granted


def test_a_restart_takes_the_next_epoch_and_believes_its_records_for_their_full_time() -> None:
    before = PaperLoop().settled()
    granted = before.say("r1", "isolate")
    after = PaperLoop(memory=before.memory, now_s=before.now_s + 300.0)
    assert after.memory.epoch == before.memory.epoch + 1
    assert after.memory.leases["r1"].id == granted.id
    reply = after.say("r1", "isolate", Act.RENEW, granted.id, epoch=granted.epoch)
    assert (reply.granted, reply.epoch) == (True, granted.epoch + 1)


@pytest.mark.parametrize(("disk", "shown", "epoch"), [(0, 9, 10), (3, 3, 5), (12, 9, 13)])
def test_a_start_takes_an_epoch_above_its_disk_and_above_what_the_racks_show(disk: int, shown: int, epoch: int) -> None:
    loop = PaperLoop(memory=LoopMemory(epoch=disk))
    loop.put("r2", grants=(GrantSeen("cdu1-x", shown, "fill"),))
    if (disk, shown) == (3, 3):
        loop.put("r2", grants=(GrantSeen("cdu1-x", 4, "fill"),))  # as high as ours, of a lease that we do not know
    loop.scan()
    assert loop.memory.epoch == epoch
    loop.scan()
    assert loop.memory.epoch == epoch or shown >= epoch


def test_the_epoch_of_a_lease_that_we_gave_is_no_news() -> None:
    loop = PaperLoop()
    reply = loop.say("r1", "drain", Act.RENEW, "cdu1-1-1", epoch=1)
    epoch = loop.memory.epoch
    loop.put("r1", grants=(GrantSeen("cdu1-1-1", reply.epoch, "drain"),))
    loop.run(5.0)
    assert loop.memory.epoch == epoch


def test_a_higher_epoch_seen_later_is_as_good_as_a_start(loop: PaperLoop) -> None:
    held = loop.say("r1", "isolate")
    loop.put("r3", grants=(GrantSeen("cdu1-8-1", 8, "fill"),))
    loop.scan()
    assert loop.memory.epoch == 9
    assert adopting(loop.memory, loop.limits, loop.now_s)
    assert not loop.say("r2", "test").granted
    assert loop.say("r1", "isolate", Act.RENEW, held.id).granted
    loop.run(TTL_S)
    assert loop.memory.epoch == 9
    assert not adopting(loop.memory, loop.limits, loop.now_s)


def test_a_rack_that_has_seen_a_higher_epoch_teaches_it_by_asking(loop: PaperLoop) -> None:
    assert loop.say("r1", "test", epoch=6).epoch == 7
    assert loop.memory.begun_s == pytest.approx(loop.now_s)


def test_an_old_retained_state_of_our_own_epoch_starts_nothing_anew(loop: PaperLoop) -> None:
    loop.put("r3", grants=(GrantSeen("cdu1-1-99", loop.memory.epoch, "fill"),), state=State.ISOLATED)
    loop.run(3.0)
    assert loop.memory.epoch == 1
    assert loop.told(LoopFactKind.EPOCH) == []


def test_every_change_of_the_leases_raises_the_state_sequence(loop: PaperLoop) -> None:
    seen = [loop.memory.state_seq]
    granted = loop.say("r1", "isolate")
    seen.append(loop.memory.state_seq)
    loop.say("r1", "isolate", Act.RENEW, granted.id)
    assert loop.memory.state_seq == seen[-1]
    loop.say("r1", "isolate", Act.GIVE_BACK, granted.id)
    seen.append(loop.memory.state_seq)
    assert seen == sorted(set(seen))


def test_two_works_may_run_where_the_site_allows_two() -> None:
    loop = PaperLoop(limits(works_at_once=2)).settled()
    assert loop.say("r1", "isolate").granted
    assert loop.say("r2", "isolate").granted
    assert not loop.say("r3", "isolate").granted


@pytest.mark.parametrize("work", ["fill", "open"])
def test_opening_work_does_not_go_on_while_a_loop_event_stands(work: str) -> None:
    loop = PaperLoop(limits(actions={})).settled()
    loop.put("r2", state=State.ISOLATED, points={"FT-101": 0.0, "FT-102": 0.0})
    granted = loop.say("r2", work)
    assert granted.granted, granted.reason
    assert loop.say("r2", work, Act.RENEW, granted.id).granted
    for name in ("r3", "r4"):
        loop.put(name, points={"LDT-101": 1.0})
    loop.run(3.0)
    seq = loop.memory.state_seq
    revoked = loop.say("r2", work, Act.RENEW, granted.id)
    assert (revoked.granted, revoked.reason) == (False, "latched on this loop: racks-leak")
    assert "reset" in revoked.would_allow
    assert loop.memory.leases == {}
    assert loop.memory.state_seq == seq + 1
    (fact,) = loop.told(LoopFactKind.REVOKED)
    assert (fact.fields["rack"], fact.fields["work"], fact.fields["id"]) == ("r2", work, granted.id)
    assert loop.told(LoopFactKind.REFUSED)[-1].fields["code"] == "loop_event"
    assert not loop.say("r2", work, Act.RENEW, granted.id).granted  # it is not adopted again
    assert len(loop.told(LoopFactKind.REVOKED)) == 1


@pytest.mark.parametrize("work", ["isolate", "drain", "test"])
def test_closing_work_goes_on_whatever_stands(work: str) -> None:
    loop = PaperLoop().settled()
    granted = loop.say("r2", work)
    for name in ("r3", "r4"):
        loop.put(name, points={"LDT-101": 1.0})
    loop.run(3.0)
    assert loop.say("r2", work, Act.RENEW, granted.id).granted
    assert loop.say("r2", "dance", Act.RENEW, granted.id).granted  # the lease counts, not what it is called


def test_an_opening_lease_of_before_is_not_adopted_into_a_loop_event() -> None:
    loop = PaperLoop()
    for name in ("r3", "r4"):
        loop.put(name, points={"LDT-101": 1.0})
    loop.run(3.0)
    assert not loop.say("r2", "open", Act.RENEW, "cdu1-0-7").granted
    assert loop.memory.leases == {}
    assert loop.say("r1", "isolate", Act.RENEW, "cdu1-0-8").granted


def test_asking_again_for_a_lease_that_may_not_go_on_ends_it_too(loop: PaperLoop) -> None:
    loop.put("r2", state=State.ISOLATED, points={"FT-101": 0.0, "FT-102": 0.0})
    granted = loop.say("r2", "fill")
    loop.put("r1", latches=("SIF-9",))
    loop.run(1.0)
    assert not loop.say("r2", "open", Act.RENEW, "of-another").granted  # not its lease: that one stands
    assert [held.id for held in loop.memory.leases.values()] == [granted.id]
    assert not loop.say("r2", "isolate", Act.RENEW, granted.id).granted  # what it was granted for counts
    assert loop.memory.leases == {}
    loop.put("r1", latches=())
    loop.run(1.0)
    loop.request("reset", event="not-proven")
    again = loop.say("r2", "fill")
    loop.put("r1", latches=("SIF-9",))
    loop.run(1.0)
    assert again.granted
    assert not loop.say("r2", "fill").granted
    assert loop.memory.leases == {}


def test_a_stop_of_the_pumps_ends_opening_work() -> None:
    loop = PaperLoop(limits(pump_stop=True)).settled()
    loop.put("r2", state=State.ISOLATED, points={"FT-101": 0.0, "FT-102": 0.0})
    granted = loop.say("r2", "open")
    loop.request("stop_pumps", role="safety")
    assert loop.say("r2", "open", Act.RENEW, granted.id).reason == "the pumps are about to be stopped"

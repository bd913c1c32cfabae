"""The rack's side of a lease: ask the loop's coordinator for leave to work, renew it, give it back, or lose it.

Pure and frozen: what is asked, held and heard lives in ``Leasing``, which survives a restart beside the memory. Time is
boot-time seconds. A lease counts from the *sending* of the ask or renewal that was answered last, never from the
answer's arrival: the coordinator, which counts from its reply, then always believes in it for longer than the rack.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from fieldkit.frozen import replace

RENEW_S = 10.0
"""A lease is renewed this long after the last answered message was sent."""
ASK_AGAIN_S = 3.0
"""An unanswered ask is sent again after this."""
REFUSED_AGAIN_S = 5.0
"""A refused ask is sent again after this: a slot may have come free."""
MOST_OPEN = 4
"""Unanswered messages that are remembered; an answer to an older one is not believed."""


class Act(StrEnum):
    """What a rack says about a lease."""

    ASK = "ask"
    RENEW = "renew"
    GIVE_BACK = "give_back"


class Heard(StrEnum):
    """What became of an answer."""

    IGNORED = "ignored"
    """It answers nothing that is open, or came too late to be of use."""
    LOWER_EPOCH = "lower_epoch"
    """From a coordinator that has been replaced."""
    GRANTED = "granted"
    REFUSED = "refused"
    LOST = "lost"
    """The coordinator does not know the lease any more."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One message to the coordinator. ``ask_id`` comes back in the answer; ``epoch`` is the highest the rack has seen."""

    ask_id: str
    act: Act
    work: str
    grant_id: str | None
    epoch: int
    args: Mapping[str, float | str]
    sent_s: float


@dataclass(frozen=True, slots=True)
class Answer:
    """The coordinator's answer. ``ttl_s`` counts from the sending of the ask; 0 when not granted."""

    ask_id: str
    granted: bool
    id: str | None
    epoch: int
    ttl_s: float
    work: str
    reason: str = ""
    would_allow: str = ""


@dataclass(frozen=True, slots=True)
class Leasing:
    """One rack's dealings with its coordinator.

    epoch     highest ever seen; answers of lower ones are refused
    number    messages ever sent
    work      what leave is wanted for; None = nothing
    since_s   since when it is wanted
    grant_id  the lease held, until ``until_s``
    sent      unanswered asks and renewals of the present work, oldest first
    back      a lease or an ask to be given back, not yet sent: (work, its id or None)
    next_s    when the next message is due
    refusal   why the last answer was no, and what would allow it
    lower     the last epoch of a replaced coordinator that was told
    """

    epoch: int = 0
    number: int = 0
    work: str | None = None
    args: Mapping[str, float | str] = field(default_factory=dict)
    since_s: float = 0.0
    grant_id: str | None = None
    until_s: float = 0.0
    sent: tuple[Ask, ...] = ()
    back: tuple[str, str | None] | None = None
    next_s: float = 0.0
    refusal: tuple[str, str] | None = None
    lower: int | None = None


def held(leasing: Leasing, now_s: float) -> bool:
    """Whether the rack may work under its lease at ``now_s``."""
    return leasing.grant_id is not None and now_s < leasing.until_s


def left_s(leasing: Leasing, now_s: float) -> float:
    """Seconds that the lease still counts; 0 without one."""
    return max(0.0, leasing.until_s - now_s) if leasing.grant_id is not None else 0.0


def want(leasing: Leasing, work: str | None, now_s: float, args: Mapping[str, float | str] | None = None) -> Leasing:
    """Return ``leasing`` wanting leave for ``work`` (None: for nothing any more). The same work again changes nothing."""
    if work == leasing.work:
        return leasing
    back = leasing.back
    if leasing.work is not None and (leasing.grant_id is not None or leasing.sent):
        back = (leasing.work, leasing.grant_id)
    return Leasing(
        epoch=leasing.epoch,
        number=leasing.number,
        work=work,
        args={} if args is None else dict(args),
        since_s=now_s,
        back=back,
        next_s=now_s,
    )


def turn(leasing: Leasing, seed: str, now_s: float) -> tuple[Leasing, tuple[Ask, ...], bool]:
    """Return what to remember, what to send now, and whether a lease has run out in this turn.

    seed  differs between racks and boots; the ids of messages are made of it and their number
    """
    lost = leasing.grant_id is not None and now_s >= leasing.until_s
    if lost:
        reason = ("the lease ran out: the coordinator did not answer in time", "a coordinator that answers; ask again")
        leasing = replace(leasing, grant_id=None, sent=(), next_s=now_s, refusal=reason)
    out: list[Ask] = []
    if leasing.back is not None:
        work, grant_id = leasing.back
        leasing, ask = _message(replace(leasing, back=None), Act.GIVE_BACK, work, grant_id, {}, seed, now_s)
        out.append(ask)
    if leasing.work is not None and now_s >= leasing.next_s:
        act = Act.ASK if leasing.grant_id is None else Act.RENEW
        leasing, ask = _message(leasing, act, leasing.work, leasing.grant_id, leasing.args, seed, now_s)
        again_s = RENEW_S if act is Act.RENEW else ASK_AGAIN_S
        leasing = replace(leasing, sent=(*leasing.sent, ask)[-MOST_OPEN:], next_s=now_s + again_s)
        out.append(ask)
    return leasing, tuple(out), lost


def hear(leasing: Leasing, answer: Answer, now_s: float) -> tuple[Leasing, Heard]:
    """Return what to remember after ``answer``, and what became of it."""
    ask = next((one for one in leasing.sent if one.ask_id == answer.ask_id), None)
    if ask is None:
        return leasing, Heard.IGNORED
    if answer.epoch < leasing.epoch:
        return leasing, Heard.LOWER_EPOCH
    rest = tuple(one for one in leasing.sent if one.sent_s > ask.sent_s)
    leasing = replace(leasing, epoch=answer.epoch, sent=rest)
    if not answer.granted:
        renewal = ask.act is Act.RENEW
        refusal = (answer.reason, answer.would_allow)
        leasing = replace(leasing, grant_id=None, next_s=now_s + REFUSED_AGAIN_S, refusal=refusal)
        return leasing, Heard.LOST if renewal else Heard.REFUSED
    until_s = ask.sent_s + answer.ttl_s
    other = leasing.grant_id is not None and answer.id != leasing.grant_id
    if answer.id is None or answer.work != leasing.work or other or until_s <= now_s:
        return leasing, Heard.IGNORED
    until_s = max(until_s, leasing.until_s) if leasing.grant_id is not None else until_s
    next_s = ask.sent_s + min(RENEW_S, answer.ttl_s / 3.0)
    return replace(leasing, grant_id=answer.id, until_s=until_s, next_s=next_s, refusal=None), Heard.GRANTED


def new_boot(leasing: Leasing) -> Leasing:
    """Return ``leasing`` in another boot: a lease is a permission and ends; the epoch stands."""
    return Leasing(epoch=leasing.epoch, number=leasing.number)


def new_start(leasing: Leasing, now_s: float) -> Leasing:
    """Return ``leasing`` in another process of the same boot: a lease that is held is presented at once.

    What was asked may have been answered while nobody listened: such an answer is not believed any more.
    """
    return replace(leasing, sent=(), next_s=now_s)


def _message(
    leasing: Leasing,
    act: Act,
    work: str,
    grant_id: str | None,
    args: Mapping[str, float | str],
    seed: str,
    now_s: float,
) -> tuple[Leasing, Ask]:
    number = leasing.number + 1
    word = hashlib.sha256(f"{seed}/{number}".encode()).hexdigest()
    ask_id = "-".join((word[:8], word[8:12], word[12:16], word[16:20], word[20:32]))
    return replace(leasing, number=number), Ask(ask_id, act, work, grant_id, leasing.epoch, args, now_s)

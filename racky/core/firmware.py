"""Firmware over Modbus by the ORv3 mailbox: one device's update as a pure procedure. Orders out, replies in.

Nobody knows how far an update came that was cut: the device lost its power, a reply was lost, Racky was killed. So every way
back leads to LOOK, which asks the device what it is doing, and begins a cut transfer anew from its first block. Only a device
with two slots survives a cut at any moment; the manifest says which have them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from racky.core.mailbox import (
    ACCEPTED,
    BOOT,
    BOOT_MODE,
    DATA,
    EXIT,
    FAILED,
    KEY,
    NORMAL,
    STATUS,
    SUCCESS,
    UNLOCK,
    VERIFY,
    WAIT,
    Mailbox,
    block_words,
    text_of,
)  # fmt: skip

MOST_TRIES = 3
REPLY_S = 20.0
"""A reply that has not come by then is lost."""
LOOK_S = 120.0
"""A device that answers nothing for so long is given up; a later run looks again."""
CHECK_S = 30.0


@dataclass(frozen=True, slots=True)
class Order:
    """One write of holding registers (``words``) or read of ``count`` (``input``: input registers), done once.

    Its ``Reply`` has the same id.
    """

    id: int
    device: str
    address: int
    words: tuple[int, ...] = ()
    count: int = 0
    input: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back of an order; not ``ok``: an exception, a wrong echo or silence, by ``error``."""

    id: int
    ok: bool
    words: tuple[int, ...] = ()
    error: str = ""


class Phase(StrEnum):
    """Where the update is."""

    LOOK = "look"
    RUNS = "runs"
    """Which revision does it run?"""
    UNLOCK = "unlock"
    BOOT = "boot"
    ERASING = "erasing"
    SEND = "send"
    ACCEPT = "accept"
    VERIFY = "verify"
    VERIFYING = "verifying"
    EXIT = "exit"
    RESTART = "restart"
    CHECK = "check"
    """It is back: which revision does it run now?"""
    DONE = "done"
    FAILED = "failed"


P = Phase
ENDED = frozenset({P.DONE, P.FAILED})


@dataclass(frozen=True, slots=True)
class Update:
    """One device's update, as it is remembered.

    revision  what it shall run in the end
    block     the packet that is sent or waited for
    tries     how often it had to begin anew
    order     what is asked of the device now, and since when;  quiet_s: until when nothing is asked
    remark    the last thing that went wrong, for people
    """

    device: str
    revision: str
    phase: Phase = P.LOOK
    since_s: float = 0.0
    block: int = 0
    tries: int = 0
    orders: int = 0
    order: Order | None = None
    order_s: float = 0.0
    quiet_s: float = 0.0
    remark: str = ""

    @property
    def ended(self) -> bool:
        return self.phase in ENDED


@dataclass(frozen=True, slots=True)
class _Work:
    """One look: the update, its image and mailbox, the time, and what came back (None: nothing new)."""

    update: Update
    image: bytes
    box: Mailbox
    now_s: float
    reply: Reply | None

    @property
    def blocks(self) -> int:
        return -(-len(self.image) // self.box.block_bytes)

    @property
    def status(self) -> int | None:
        return self.reply.words[0] if self.reply is not None and self.reply.ok and self.reply.words else None


def begin(device: str, revision: str, now_s: float, orders: int = 0) -> Update:
    """Return a new update. ``orders``: the last id used, so that an old reply is never taken for a new one."""
    return Update(device, revision, since_s=now_s, orders=orders)


def resumed(update: Update, now_s: float) -> Update:
    """Return the update as it goes on after Racky was away: what was under way may or may not have happened."""
    return update if update.ended else replace(update, phase=P.LOOK, since_s=now_s, order=None, quiet_s=0.0)


def share(update: Update, image: bytes, box: Mailbox) -> float:
    """How much of the image the device has, 0..1."""
    if update.phase in {P.VERIFY, P.VERIFYING, P.EXIT, P.RESTART, P.CHECK, P.DONE}:
        return 1.0
    return min(1.0, update.block * box.block_bytes / len(image)) if image else 0.0


def advance(update: Update, image: bytes, box: Mailbox, reply: Reply | None, now_s: float) -> Update:
    """Return the update one step further; what it asks of the device is in ``order``."""
    if update.ended:
        return update
    if not image:
        return replace(update, phase=P.FAILED, since_s=now_s, order=None, remark="there is no image")
    if update.order is not None:
        if reply is None or reply.id != update.order.id:
            if now_s - update.order_s < REPLY_S:
                return update
            reply = Reply(update.order.id, ok=False, error="no reply")
        update = replace(update, order=None)
        update = _HEARD[update.phase](_Work(update, image, box, now_s, reply))
    if update.ended or now_s < update.quiet_s:
        return update
    return _ask(_Work(update, image, box, now_s, None))


def _ask(work: _Work) -> Update:
    update, box = work.update, work.box
    writes: dict[Phase, tuple[int, tuple[int, ...]]] = {
        P.UNLOCK: (UNLOCK, (KEY,)),
        P.BOOT: (BOOT_MODE, (box.boot_word,)),
        P.VERIFY: (VERIFY, (KEY,)),
        P.EXIT: (EXIT, (KEY,)),
    }
    number = update.orders + 1
    if update.phase is P.SEND:
        order = Order(number, update.device, DATA, block_words(work.image, box, update.block))
    elif update.phase in writes:
        address, words = writes[update.phase]
        order = Order(number, update.device, address, words)
    elif update.phase in {P.RUNS, P.CHECK}:
        order = Order(number, update.device, box.revision_address, count=box.revision_words, input=box.revision_input)
    else:
        order = Order(number, update.device, STATUS, count=1)
    return replace(update, orders=number, order=order, order_s=work.now_s)


def _go(work: _Work, phase: Phase, block: int | None = None) -> Update:
    """Enter a phase; ``block`` None keeps the packet."""
    block = work.update.block if block is None else block
    return replace(work.update, phase=phase, since_s=work.now_s, quiet_s=0.0, block=block)


def _poll(work: _Work, most_s: float, late: str) -> Update:
    """Look again in a moment, or give this try up."""
    if work.now_s - work.update.since_s >= most_s:
        return _again(work, late)
    return replace(work.update, quiet_s=work.now_s + work.box.poll_s)


def _again(work: _Work, why: str) -> Update:
    """Begin anew from what the device says; after too many tries it is given up."""
    tries = work.update.tries + 1
    phase = P.FAILED if tries > MOST_TRIES else P.LOOK
    return replace(_go(work, phase, block=0), tries=tries, remark=why, quiet_s=work.now_s + work.box.poll_s)


def _look(work: _Work) -> Update:
    status = work.status
    if status == NORMAL:
        return _go(work, P.RUNS)
    if status == SUCCESS:
        return _go(work, P.EXIT)
    if status in {BOOT, ACCEPTED, WAIT, FAILED}:
        return _go(work, P.UNLOCK, block=0)
    if work.now_s - work.update.since_s >= LOOK_S:
        said = "it does not answer" if status is None else f"its status is {status:#06x}"
        return replace(_go(work, P.FAILED), remark=said)
    return replace(work.update, quiet_s=work.now_s + work.box.poll_s)


def _runs(work: _Work) -> Update:
    reply = work.reply
    if reply is None or not reply.ok:
        return _poll(work, CHECK_S, "its revision cannot be read")
    return _go(work, P.DONE if text_of(reply.words) == work.update.revision else P.UNLOCK, block=0)


def _check(work: _Work) -> Update:
    reply = work.reply
    if reply is None or not reply.ok:
        return _poll(work, CHECK_S, "its revision cannot be read")
    runs = text_of(reply.words)
    return _go(work, P.DONE) if runs == work.update.revision else _again(work, f"it boots {runs or 'nothing known'}")


def _wrote(then: Phase, *, needs_ok: bool) -> Callable[[_Work], Update]:
    """A write. A reply that may come late or never is no failure: the status tells."""

    def wrote(work: _Work) -> Update:
        if needs_ok and (work.reply is None or not work.reply.ok):
            error = "" if work.reply is None else work.reply.error
            return _again(work, f"{work.update.phase} was not acknowledged: {error}")
        return _go(work, then)

    return wrote


def _erasing(work: _Work) -> Update:
    if work.status == BOOT:
        return _go(work, P.SEND, block=0)
    return _poll(work, work.box.erase_s, "it does not enter its boot mode")


def _accept(work: _Work) -> Update:
    status, box = work.status, work.box
    if status == ACCEPTED:
        block = work.update.block + 1
        return _go(work, P.VERIFY if block >= work.blocks else P.SEND, block=block)
    if status in {NORMAL, FAILED, SUCCESS}:
        return _again(work, f"it answers packet {work.update.block} with status {status:#06x}")
    return _poll(work, box.accept_s, f"packet {work.update.block} is not accepted")


def _verifying(work: _Work) -> Update:
    if work.status == SUCCESS:
        return _go(work, P.EXIT)
    if work.status in {NORMAL, FAILED}:
        return _again(work, "the image does not pass the device's own check")
    return _poll(work, work.box.verify_s, "the device's own check does not end")


def _restart(work: _Work) -> Update:
    return _go(work, P.CHECK) if work.status == NORMAL else _poll(work, work.box.restart_s, "it does not come back")


_HEARD: dict[Phase, Callable[[_Work], Update]] = {
    P.LOOK: _look,
    P.RUNS: _runs,
    P.UNLOCK: _wrote(P.BOOT, needs_ok=True),
    P.BOOT: _wrote(P.ERASING, needs_ok=False),
    P.ERASING: _erasing,
    P.SEND: _wrote(P.ACCEPT, needs_ok=True),
    P.ACCEPT: _accept,
    P.VERIFY: _wrote(P.VERIFYING, needs_ok=False),
    P.VERIFYING: _verifying,
    P.EXIT: _wrote(P.RESTART, needs_ok=False),
    P.RESTART: _restart,
    P.CHECK: _check,
}

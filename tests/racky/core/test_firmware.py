"""One device's update through its mailbox: cut at every step and at every moment, it runs the old or the new, never neither."""

from dataclasses import dataclass, field, replace

import pytest

from firmware_sim.parts.orv3_mailbox import Mailbox as Device
from firmware_sim.parts.orv3_mailbox import MailboxTimes, Status, build_image
from firmware_sim.parts.registers import Answer
from racky.core import firmware, mailbox
from racky.core.firmware import MOST_TRIES, Order, Phase, Reply, Update, advance, begin, resumed, share
from racky.core.mailbox import Mailbox, block_words, text_of

OLD, NEW = build_image("2.1.0", b"a" * 300), build_image("2.2.0", b"b" * 500)
BOX = Mailbox()
BLOCKS = -(-len(NEW) // BOX.block_bytes)
P = Phase


@dataclass
class Rig:
    """A device, a wire that answers at once or not at all, and the update."""

    device: Device = field(
        default_factory=lambda: Device(OLD, times=MailboxTimes(erase_s=3.0, check_s=1.0, restart_s=2.0))
    )
    image: bytes = NEW
    box: Mailbox = BOX
    now_s: float = 10.0
    update: Update = field(default_factory=lambda: begin("psu", "2.2.0", 10.0))
    done: int = 0
    ran: list[str | None] = field(default_factory=list)
    phases: list[Phase] = field(default_factory=list)
    lost_replies: frozenset[int] = frozenset()
    """Orders that are done, and whose reply is lost."""
    never: frozenset[int] = frozenset()
    """Orders that do not arrive."""
    _reply: Reply | None = None

    def __post_init__(self) -> None:
        self.device.step(self.now_s)

    def step(self, dt_s: float = 0.1) -> None:
        self.device.step(self.now_s)
        self.update = advance(self.update, self.image, self.box, self._reply, self.now_s)
        self._reply = None
        if not self.phases or self.phases[-1] is not self.update.phase:
            self.phases.append(self.update.phase)
        order = self.update.order
        if order is not None and order.id != self.done:
            self.done = order.id
            if order.id not in self.never:
                answer = self.serve(order)
                self._reply = None if order.id in self.lost_replies else answer
        self.now_s = round(self.now_s + dt_s, 3)
        if self.device.running is not None:
            self.ran.append(self.device.running)

    def serve(self, order: Order) -> Reply:
        if not self.device.answers:
            return Reply(order.id, ok=False, error="timeout")
        if order.words:
            said = self.device.write(order.address, order.words, self.now_s)
            return Reply(order.id, said is Answer.OK, error=said.name)
        if order.address == self.box.revision_address:
            text = (self.device.running or "").ljust(8).encode()
            return Reply(order.id, True, tuple(int.from_bytes(text[n : n + 2], "big") for n in range(0, 8, 2)))
        return Reply(order.id, True, self.device.read(order.address, order.count))

    def run(self, most_s: float = 900.0) -> "Rig":
        end_s = self.now_s + most_s
        while not self.update.ended and self.now_s < end_s:
            self.step()
        return self

    def cut(self, for_s: float = 3.0) -> None:
        """The device loses its power; it comes back while Racky goes on asking."""
        self.device.power_off()
        self.device.power_on(self.now_s + for_s)

    def kill(self, away_s: float = 1.0) -> None:
        """Racky dies and comes back with what it remembered last."""
        self.now_s = round(self.now_s + away_s, 3)
        self.device.step(self.now_s)
        self._reply = None
        self.update = resumed(self.update, self.now_s)

    def sound(self) -> None:
        """It starts, and runs the old or the new; nothing else has ever run."""
        self.device.step(self.now_s + 60.0)
        assert self.device.running in {"2.1.0", "2.2.0"}
        assert set(self.ran) <= {"2.1.0", "2.2.0"}


def whole() -> Rig:
    return Rig().run()


ORDERS = whole().done
SPAN_S = whole().now_s - 10.0


def test_an_update_runs_through_its_phases_and_ends_on_the_new_revision() -> None:
    rig = whole()
    assert (rig.update.phase, rig.update.tries, rig.device.running) == (P.DONE, 0, "2.2.0")
    packets = [P.SEND, P.ACCEPT] * BLOCKS
    assert rig.phases == [
        P.LOOK, P.RUNS, P.UNLOCK, P.BOOT, P.ERASING, *packets, P.VERIFY, P.VERIFYING, P.EXIT, P.RESTART, P.CHECK, P.DONE,
    ]  # fmt: skip
    assert rig.device.bytes_written == BLOCKS * BOX.block_bytes


def test_a_device_that_runs_it_already_is_left_alone() -> None:
    rig = Rig(device=Device(NEW))
    rig.run()
    assert (rig.update.phase, rig.device.bytes_written, rig.done) == (P.DONE, 0, 2)


@pytest.mark.parametrize("order", range(1, ORDERS + 1))
def test_power_cut_at_each_step_leaves_old_or_new_and_the_update_ends(order: int) -> None:
    rig = Rig()
    while rig.done < order:
        rig.step()
    rig.cut()
    rig.sound()
    rig.run()
    assert (rig.update.phase, rig.device.running) == (P.DONE, "2.2.0"), rig.update
    rig.sound()


@pytest.mark.parametrize("order", range(1, ORDERS + 1))
def test_racky_killed_at_each_step_goes_on_and_ends(order: int) -> None:
    """Whether the order that was under way arrived or not."""
    for lost in (frozenset[int](), frozenset({order})):
        rig = Rig(never=lost)
        while rig.done < order:
            rig.step()
        rig.kill()
        rig.run()
        assert (rig.update.phase, rig.device.running, rig.update.tries) == (P.DONE, "2.2.0", 0), rig.update
        rig.sound()


@pytest.mark.parametrize("order", range(1, ORDERS + 1, 3))
def test_both_at_once_and_the_device_stays_away_for_a_while(order: int) -> None:
    rig = Rig()
    while rig.done < order:
        rig.step()
    rig.cut(40.0)
    rig.kill()
    rig.run()
    assert (rig.update.phase, rig.device.running) == (P.DONE, "2.2.0"), rig.update


def test_power_cut_at_every_moment_never_leaves_neither() -> None:
    """Between the steps too: while it erases, checks and starts."""
    for tenth in range(0, int(10.0 * SPAN_S), 2):
        rig = Rig()
        while rig.now_s < 10.0 + tenth / 10.0:
            rig.step()
        rig.cut()
        rig.sound()


@pytest.mark.parametrize("order", range(1, ORDERS + 1))
def test_a_lost_reply_at_each_step_does_no_harm(order: int) -> None:
    rig = Rig(lost_replies=frozenset({order}))
    rig.run()
    assert (rig.update.phase, rig.device.running) == (P.DONE, "2.2.0"), rig.update
    rig.sound()


def test_an_image_that_does_not_pass_its_check_is_given_up_and_the_old_one_runs() -> None:
    rig = Rig(image=NEW[:-1] + b"x").run()
    assert (rig.update.phase, rig.update.tries) == (P.FAILED, MOST_TRIES + 1)
    assert rig.update.remark == "the image does not pass the device's own check"
    rig.device.power_off()
    rig.device.power_on(rig.now_s)
    rig.device.step(rig.now_s + 10.0)
    assert rig.device.running == "2.1.0"


def test_an_image_of_another_revision_than_it_says_is_given_up() -> None:
    rig = Rig(image=build_image("2.1.9", b"c" * 300)).run()
    assert (rig.update.phase, rig.update.remark) == (P.FAILED, "it boots 2.1.9")


def test_without_an_image_nothing_is_asked() -> None:
    rig = Rig(image=b"")
    rig.step()
    assert (rig.update.phase, rig.update.order, rig.update.remark) == (P.FAILED, None, "there is no image")


def test_a_silent_device_is_given_up_and_looked_at_again_by_a_later_run() -> None:
    rig = Rig()
    rig.device.power_off()
    rig.run()
    assert (rig.update.phase, rig.update.remark) == (P.FAILED, "it does not answer")
    assert rig.now_s == pytest.approx(10.0 + firmware.LOOK_S, abs=2.0)
    assert resumed(rig.update, rig.now_s) is rig.update
    assert advance(rig.update, NEW, BOX, None, rig.now_s) is rig.update
    rig.device.power_on(rig.now_s)
    rig.update = begin("psu", "2.2.0", rig.now_s, rig.update.orders)
    assert rig.run().update.phase is P.DONE


def test_what_another_master_checked_but_did_not_start_is_started_first() -> None:
    rig = Rig()
    while rig.device.status is not Status.SUCCESS:
        rig.step()
        rig.device.step(rig.now_s)
    rig.update = begin("psu", "2.2.0", rig.now_s, rig.update.orders)
    rig.phases.clear()
    rig.run()
    assert rig.phases[:4] == [P.LOOK, P.EXIT, P.RESTART, P.CHECK]
    assert rig.update.phase is P.DONE


class Scripted:
    """A device that says what a test wants, one status after the other; writes are acknowledged unless told otherwise."""

    def __init__(self, phase: Phase, statuses: list[int | None], box: Mailbox = BOX, acknowledges: bool = True) -> None:
        self.update = replace(begin("psu", "2.2.0", 0.0), phase=phase)
        self.statuses, self.box, self.acknowledges = statuses, box, acknowledges
        self.now_s, self.seen = 0.0, [phase]
        self.reply: Reply | None = None

    def run(self, steps: int) -> Update:
        for _ in range(steps):
            self.update = advance(self.update, NEW, self.box, self.reply, self.now_s)
            if self.update.phase is not self.seen[-1]:
                self.seen.append(self.update.phase)
            order = self.update.order
            self.reply = None
            if order is not None and order.words:
                self.reply = Reply(order.id, self.acknowledges, error="" if self.acknowledges else "exception 4")
            elif order is not None:
                status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
                self.reply = Reply(order.id, status is not None, () if status is None else (status,), "timeout")
            self.now_s += 0.5
        return self.update


@pytest.mark.parametrize("status", [mailbox.BOOT, mailbox.ACCEPTED, mailbox.WAIT, mailbox.FAILED])
def test_a_device_found_in_its_boot_mode_gets_the_image_from_the_start(status: int) -> None:
    rig = Scripted(P.LOOK, [status])
    rig.run(2)
    assert (rig.update.phase, rig.update.block) == (P.UNLOCK, 0)


def test_a_status_that_nobody_knows_is_waited_out_then_told() -> None:
    update = Scripted(P.LOOK, [0x77]).run(300)
    assert (update.phase, update.remark) == (P.FAILED, "its status is 0x0077")


@pytest.mark.parametrize(
    ("phase", "status", "remark"),
    [
        (P.RUNS, None, "its revision cannot be read"),
        (P.CHECK, None, "its revision cannot be read"),
        (P.ERASING, mailbox.NORMAL, "it does not enter its boot mode"),
        (P.ACCEPT, mailbox.NORMAL, "it answers packet 0 with status 0x0000"),
        (P.ACCEPT, mailbox.FAILED, "it answers packet 0 with status 0x0055"),
        (P.ACCEPT, mailbox.SUCCESS, "it answers packet 0 with status 0x00aa"),
        (P.ACCEPT, mailbox.WAIT, "packet 0 is not accepted"),
        (P.ACCEPT, mailbox.BOOT, "packet 0 is not accepted"),
        (P.VERIFYING, mailbox.NORMAL, "the image does not pass the device's own check"),
        (P.VERIFYING, mailbox.FAILED, "the image does not pass the device's own check"),
        (P.VERIFYING, mailbox.WAIT, "the device's own check does not end"),
        (P.RESTART, mailbox.BOOT, "it does not come back"),
        (P.RESTART, None, "it does not come back"),
    ],
)
def test_each_phase_gives_up_by_its_own_words_and_looks_again(phase: Phase, status: int | None, remark: str) -> None:
    rig = Scripted(phase, [status])
    for _ in range(400):
        rig.run(1)
        if rig.update.tries:
            break
    assert (rig.update.tries, rig.update.phase, rig.update.remark) == (1, P.LOOK, remark)


def test_a_revision_that_reads_as_nothing_is_told_so() -> None:
    rig = Scripted(P.CHECK, [0])
    rig.run(3)
    assert rig.update.remark == "it boots nothing known"


@pytest.mark.parametrize(
    ("phase", "goes_on"), [(P.UNLOCK, False), (P.SEND, False), (P.BOOT, True), (P.VERIFY, True), (P.EXIT, True)]
)
def test_a_write_that_may_take_its_time_is_judged_by_the_status_not_by_its_reply(phase: Phase, goes_on: bool) -> None:
    rig = Scripted(phase, [mailbox.WAIT], acknowledges=False)
    rig.run(2)
    assert rig.update.tries == (0 if goes_on else 1)
    if not goes_on:
        assert rig.update.remark == f"{phase} was not acknowledged: exception 4"


def test_a_reply_to_another_order_is_not_taken() -> None:
    update = advance(begin("psu", "2.2.0", 0.0, 7), NEW, BOX, None, 0.0)
    assert update.order == Order(8, "psu", mailbox.STATUS, count=1)
    assert advance(update, NEW, BOX, Reply(7, True, (0,)), 1.0) == update
    assert advance(update, NEW, BOX, None, firmware.REPLY_S - 0.1) == update
    late = advance(update, NEW, BOX, None, firmware.REPLY_S)
    assert (late.order, late.quiet_s) == (None, firmware.REPLY_S + BOX.poll_s)
    assert advance(update, NEW, BOX, Reply(8, True, (0,)), 1.0).phase is P.RUNS
    assert advance(update, NEW, BOX, Reply(8, True, ()), 1.0).phase is P.LOOK  # no register in it


def test_the_revision_may_be_an_input_register() -> None:
    box = replace(BOX, revision_address=908, revision_input=True)
    update = replace(begin("psu", "2.2.0", 0.0), phase=P.RUNS)
    assert advance(update, NEW, box, None, 0.0).order == Order(1, "psu", 908, count=4, input=True)


def test_the_last_packet_is_filled_up_and_text_is_trimmed() -> None:
    assert block_words(b"\x01\x02\x03", Mailbox(block_bytes=6), 0) == (0x0102, 0x03FF, 0xFFFF)
    assert block_words(b"\x01\x02\x03\x04\x05", Mailbox(block_bytes=2), 2) == (0x05FF,)
    assert text_of((0x322E, 0x3100, 0x2020)) == "2.1"
    assert text_of((0xFFFF,)) == "\ufffd\ufffd"


def test_the_share_of_an_update_grows_from_nothing_to_all() -> None:
    update = begin("psu", "2.2.0", 0.0)
    assert share(update, NEW, BOX) == 0.0
    assert share(replace(update, phase=P.SEND, block=4), NEW, BOX) == pytest.approx(4 * 64 / len(NEW))
    assert share(replace(update, phase=P.ACCEPT, block=BLOCKS), NEW, BOX) == 1.0
    assert share(replace(update, phase=P.VERIFY), NEW, BOX) == 1.0
    assert share(update, b"", BOX) == 0.0


def test_the_device_refuses_what_is_out_of_order() -> None:
    """The simulated mailbox itself: what a real one is known to refuse."""
    device = Device(OLD)
    device.step(100.0)
    assert device.write(mailbox.BOOT_MODE, (0xA5A5,), 100.0) is Answer.ILLEGAL_ADDRESS  # locked
    assert device.write(mailbox.UNLOCK, (1,), 100.0) is Answer.ILLEGAL_VALUE
    assert device.write(mailbox.UNLOCK, (mailbox.KEY,), 100.0) is Answer.OK
    assert device.write(mailbox.VERIFY, (mailbox.KEY,), 100.0) is Answer.ILLEGAL_ADDRESS  # not in its boot mode
    assert device.write(mailbox.BOOT_MODE, (1,), 100.0) is Answer.ILLEGAL_VALUE
    assert device.write(mailbox.DATA, (0,) * 32, 100.0) is Answer.ILLEGAL_ADDRESS
    assert device.write(mailbox.BOOT_MODE, (0xA5A5, 0), 100.0) is Answer.ILLEGAL_ADDRESS
    assert device.write(mailbox.BOOT_MODE, (0xA5A5,), 100.0) is Answer.OK
    assert (device.status, device.updating) == (Status.WAIT, True)
    assert device.write(mailbox.DATA, (0,) * 32, 101.0) is Answer.BUSY
    assert device.write(mailbox.EXIT, (mailbox.KEY,), 101.0) is Answer.BUSY
    assert device.write(mailbox.DATA, (0,) * 31, 111.0) is Answer.ILLEGAL_VALUE
    assert device.status is Status.FAILED
    assert device.write(mailbox.EXIT, (mailbox.KEY,), 112.0) is Answer.OK
    assert not device.answers
    device.step(120.0)
    assert (device.running, device.slots[1]) == ("2.1.0", b"")
    assert device.owns(0x300, 5)
    assert device.owns(0x310, 0x30)
    assert not device.owns(0x2FF)
    assert not device.owns(0x304, 2)
    assert not device.owns(0x310, 0x31)
    with pytest.raises(ValueError, match="8"):
        build_image("123456789", b"")
    with pytest.raises(ValueError, match="whole"):
        Device(b"RKFW")

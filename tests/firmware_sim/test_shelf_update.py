"""A shelf's firmware update through its mailbox, over the wire's own requests: whatever is cut, it boots old or new."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_sim.parts.battery_shelf import BatteryShelf
from firmware_sim.parts.orv3_mailbox import (
    BOOT_MODE,
    BOOT_WORD,
    DATA,
    EXIT,
    KEY,
    STATUS,
    UNLOCK,
    VERIFY,
    Status,
    build_image,
)
from firmware_sim.parts.pdu import answer
from firmware_sim.parts.power_shelf import PowerShelf
from firmware_sim.parts.shelf import Shelf

OLD, NEW = "1.0.0", "1.1.0"
IMAGE = build_image(NEW, bytes(range(200)))
ERASE_S, PACKET_S, CHECK_S, RESTART_S = 10.0, 0.02, 3.0, 5.0

Step = tuple[int, tuple[int, ...], float]


def packets(image: bytes) -> list[tuple[int, ...]]:
    padded = image + b"\xff" * (-len(image) % 64)
    words = [int.from_bytes(padded[n : n + 2]) for n in range(0, len(padded), 2)]
    return [tuple(words[n : n + 32]) for n in range(0, len(words), 32)]


UPDATE: tuple[Step, ...] = (
    (UNLOCK, (KEY,), 0.0),
    (BOOT_MODE, (BOOT_WORD,), ERASE_S),
    *((DATA, packet, PACKET_S) for packet in packets(IMAGE)),
    (VERIFY, (KEY,), CHECK_S),
    (EXIT, (KEY,), RESTART_S),
)


def shelf(kind: type[Shelf] = PowerShelf) -> Shelf:
    return PowerShelf(revision=OLD) if kind is PowerShelf else BatteryShelf(revision=OLD)


def write(device: Shelf, address: int, words: Sequence[int], now_s: float) -> int:
    """Exception code of the answer, 0 when it is none."""
    body = b"".join(word.to_bytes(2) for word in words)
    pdu = bytes((16,)) + address.to_bytes(2) + len(words).to_bytes(2) + bytes((len(body),)) + body
    reply = answer(device, pdu, now_s)
    return reply[1] if reply[0] & 0x80 else 0


def read(device: Shelf, function: int, address: int, count: int, now_s: float) -> bytes:
    return answer(device, bytes((function,)) + address.to_bytes(2) + count.to_bytes(2), now_s)


def status(device: Shelf, now_s: float) -> int:
    return int.from_bytes(read(device, 3, STATUS, 1, now_s)[2:])


def runs(device: Shelf, now_s: float) -> str:
    return read(device, 4, 908, 4, now_s)[2:].rstrip(b"\0").decode()


def played(device: Shelf, now_s: float) -> float:
    """Do the whole update; returns the time after it."""
    for address, words, wait_s in UPDATE:
        assert write(device, address, words, now_s) == 0
        now_s += wait_s
    return now_s


@pytest.mark.parametrize("kind", [PowerShelf, BatteryShelf])
def test_an_update_that_nothing_cuts_brings_the_new_firmware(kind: type[Shelf]) -> None:
    device = shelf(kind)
    assert runs(device, 0.0) == OLD
    now_s = played(device, 1.0)
    assert (runs(device, now_s), status(device, now_s)) == (NEW, Status.NORMAL)
    assert device.answers
    assert device.identity()[2] == NEW
    assert read(device, 4, 920, 1, now_s)[2:] == b"\0\0"  # it has just started


def test_the_status_tells_every_phase() -> None:
    device, now_s, seen = shelf(), 0.0, []
    for address, words, wait_s in UPDATE[:-1]:
        write(device, address, words, now_s)
        seen += [status(device, now_s), status(device, now_s + wait_s)]
        now_s += wait_s
    packets_sent = len(UPDATE) - 4
    assert seen == [0, 0, 0x18, 1, *(0x18, 6) * packets_sent, 0x18, 0xAA]


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("step", range(len(UPDATE)))
def test_a_cut_at_any_step_boots_old_or_new_and_a_second_try_succeeds(step: int, share: float) -> None:
    device, now_s = shelf(), 1.0
    for number, (address, words, wait_s) in enumerate(UPDATE[: step + 1]):
        write(device, address, words, now_s)
        now_s += wait_s * (share if number == step else 1.0)
    device.stop(now_s)
    assert not device.answers
    device.start(now_s + 60.0)
    assert not device.answers
    now_s += 60.0 + RESTART_S
    assert runs(device, now_s) == (NEW if step == len(UPDATE) - 1 else OLD)
    assert device.answers
    assert device.holding.get_u16(0) == 0
    now_s = played(device, now_s)
    assert runs(device, now_s) == NEW


WRITES = st.sampled_from([
    (UNLOCK, (KEY,)), (BOOT_MODE, (BOOT_WORD,)), (VERIFY, (KEY,)), (EXIT, (KEY,)), (UNLOCK, (0,)), (DATA, (0,) * 32),
    *((DATA, packet) for packet in packets(IMAGE)),
])  # fmt: skip
DONE = st.tuples(WRITES, st.sampled_from([0.0, 0.01, 0.02, 3.0, 10.0]), st.booleans())


@given(st.lists(DONE, max_size=30), st.integers(0, len(UPDATE)))
def test_nothing_that_is_written_or_cut_leaves_it_without_a_firmware(
    done: list[tuple[tuple[int, tuple[int, ...]], float, bool]], whole: int
) -> None:
    device, now_s = shelf(), 0.0
    steps = [(a, w, s, False) for a, w, s in UPDATE[:whole]] + [(a, w, s, cut) for (a, w), s, cut in done]
    for address, words, wait_s, cut in steps:
        write(device, address, words, now_s)
        now_s += wait_s
        if cut:
            device.stop(now_s)
            device.start(now_s)
    device.stop(now_s)
    device.start(now_s)
    assert runs(device, now_s + RESTART_S) in {OLD, NEW}
    assert device.answers


def test_an_image_with_one_bit_wrong_is_not_started() -> None:
    device, now_s = shelf(), 0.0
    for address, words, wait_s in UPDATE:
        spoilt = (words[0] ^ 1, *words[1:]) if address == DATA and words == packets(IMAGE)[2] else words
        write(device, address, spoilt, now_s)
        now_s += wait_s
        if address == VERIFY:
            assert status(device, now_s) == Status.FAILED
    assert runs(device, now_s) == OLD


def test_in_the_boot_mode_only_the_mailbox_is_served() -> None:
    device = shelf()
    write(device, UNLOCK, (KEY,), 0.0)
    write(device, BOOT_MODE, (BOOT_WORD,), 0.0)
    assert read(device, 4, 0, 4, 1.0).hex() == "8406"
    assert read(device, 3, 0, 1, 1.0).hex() == "8306"
    assert write(device, 0, (1,), 1.0) == 6
    assert status(device, 1.0) == Status.WAIT
    assert write(device, VERIFY, (KEY,), 1.0) == 6  # it still erases
    assert write(device, EXIT, (KEY,), 11.0) == 0
    assert runs(device, 16.0) == OLD
    assert read(device, 4, 0, 1, 16.0)[0] == 4


def test_the_boot_mode_is_refused_while_the_output_is_on() -> None:
    device = shelf()
    assert isinstance(device, PowerShelf)
    device.begin()
    write(device, UNLOCK, (KEY,), 0.0)
    assert write(device, BOOT_MODE, (BOOT_WORD,), 0.0) == 4
    assert status(device, 20.0) == Status.NORMAL
    write(device, 0, (0,), 20.0)
    device.drive(ac=True, now_s=20.0, dt_s=0.02)
    assert write(device, BOOT_MODE, (BOOT_WORD,), 20.0) == 0


@pytest.mark.parametrize(
    ("address", "words", "code"),
    [(BOOT_MODE, (BOOT_WORD,), 2), (VERIFY, (KEY,), 2), (EXIT, (KEY,), 2), (DATA, (0,) * 32, 2), (UNLOCK, (1,), 3)],
)
def test_what_is_not_unlocked_is_refused(address: int, words: tuple[int, ...], code: int) -> None:
    assert write(shelf(), address, words, 0.0) == code

"""What a faulty wire makes of a good reply, byte by byte."""

import pytest

from firmware_sim.parts.noise import Noise
from firmware_sim.wire_faults import Faults, Piece, WireFault, pieces

READ_REPLY = bytes.fromhex("0007 0000 0007 01 03 04 1122 3344")
WRITE_REPLY = bytes.fromhex("0007 0000 0006 01 10 0000 0002")


def spoilt(faults: Faults, frame: bytes = READ_REPLY) -> list[Piece]:
    return pieces(frame, 12, faults, Noise(1))


@pytest.mark.parametrize(
    ("fault", "frame", "expected"),
    [
        (WireFault.WRONG_TRANSACTION, READ_REPLY, "0008 0000 0007 01 03 04 1122 3344"),
        (WireFault.WRONG_UNIT, READ_REPLY, "0007 0000 0007 02 03 04 1122 3344"),
        (WireFault.WRONG_FUNCTION, READ_REPLY, "0007 0000 0007 01 04 04 1122 3344"),
        (WireFault.SHORT_REPLY, READ_REPLY, "0007 0000 0005 01 03 02 1122"),
        (WireFault.SHORT_REPLY, WRITE_REPLY, WRITE_REPLY.hex()),
        (WireFault.WRONG_ECHO, WRITE_REPLY, "0007 0000 0006 01 10 0000 0003"),
        (WireFault.WRONG_ECHO, READ_REPLY, READ_REPLY.hex()),
    ],
)
def test_a_frame_is_wrong_in_exactly_one_way(fault: WireFault, frame: bytes, expected: str) -> None:
    assert [piece.data for piece in spoilt({fault: 0.0}, frame)] == [bytes.fromhex(expected)]


def test_no_reply_is_nothing_at_all() -> None:
    assert spoilt({WireFault.NO_REPLY: 0.0}) == []


def test_garbage_is_not_the_frame() -> None:
    (piece,) = spoilt({WireFault.GARBAGE: 0.0})
    assert 8 <= len(piece.data) < 24
    assert not piece.data.startswith(READ_REPLY[:6])


def test_a_late_reply_is_whole_and_late() -> None:
    assert spoilt({WireFault.LATE_REPLY: 300.0}) == [Piece(0.3, READ_REPLY)]


def test_a_split_reply_is_cut_in_the_header_and_in_the_body_and_loses_nothing() -> None:
    sent = spoilt({WireFault.SPLIT: 10.0})
    assert [len(piece.data) for piece in sent] == [3, 4, 2, 4]
    assert [piece.after_s for piece in sent] == pytest.approx([0.0, 0.01, 0.02, 0.03])
    assert b"".join(piece.data for piece in sent) == READ_REPLY


def test_a_duplicate_is_sent_twice() -> None:
    assert [piece.data for piece in spoilt({WireFault.DUPLICATE: 0.0})] == [READ_REPLY, READ_REPLY]


def test_a_split_duplicate_does_not_mix_its_two_copies() -> None:
    sent = sorted(spoilt({WireFault.DUPLICATE: 0.0, WireFault.SPLIT: 10.0}), key=lambda piece: piece.after_s)
    assert b"".join(piece.data for piece in sent) == READ_REPLY * 2


def test_a_slow_link_takes_its_time_for_every_byte_both_ways() -> None:
    (piece,) = spoilt({WireFault.SLOW_LINK: 100.0})
    assert piece.after_s == pytest.approx((12 + len(READ_REPLY)) / 100.0)

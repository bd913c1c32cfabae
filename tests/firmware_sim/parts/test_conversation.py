"""Who answered what, and when: out of TCP streams as they were captured."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_sim.parts.conversation import Event, Exchange, cut, events_of, exchanges
from firmware_sim.parts.pcap import CaptureError, Segment
from tests.firmware_sim.packets import CLIENT, DEVICE, Address


def ask(tid: int, address: int = 0) -> bytes:
    return tid.to_bytes(2) + bytes.fromhex("00000006 01 04") + address.to_bytes(2) + b"\0\x01"


def say(tid: int, value: int) -> bytes:
    return tid.to_bytes(2) + bytes.fromhex("00000005 01 04 02") + value.to_bytes(2)


def segment(number: int, data: bytes, at_s: float = 0.0, *, source: Address = CLIENT, cut: bool = False) -> Segment:
    target = DEVICE if source == CLIENT else CLIENT
    return Segment(at_s, source, target, number, False, data, cut)


def replies(one: Exchange) -> list[tuple[float, bytes]]:
    return [(round(piece.after_s, 3), piece.data) for piece in one.pieces]


def test_a_late_reply_belongs_to_the_request_of_its_id() -> None:
    first, second = exchanges([
        Event(0.0, 0, True, ask(1, 10)),
        Event(0.3, 0, True, ask(2, 20)),
        Event(0.4, 0, False, say(1, 111)),
        Event(0.5, 0, False, say(2, 222)),
    ])
    assert replies(first) == [(0.4, say(1, 111))]
    assert replies(second) == [(0.2, say(2, 222))]


def test_a_request_that_nothing_answers_is_kept_as_one_that_gets_nothing() -> None:
    silent, answered = exchanges([
        Event(0.0, 0, True, ask(1)), Event(1.0, 0, True, ask(2)), Event(1.1, 0, False, say(2, 5)),
    ])  # fmt: skip
    assert (silent.pieces, replies(answered)) == ([], [(0.1, say(2, 5))])


def test_pieces_of_a_reply_keep_their_cuts_and_their_times() -> None:
    whole = say(1, 7)
    (one,) = exchanges([
        Event(0.0, 0, True, ask(1)), Event(0.1, 0, False, whole[:3]), Event(0.2, 0, False, whole[3:]),
    ])  # fmt: skip
    assert replies(one) == [(0.1, whole[:3]), (0.2, whole[3:])]
    assert [piece.own_id for piece in one.pieces] == [True, False]


def test_garbage_and_a_garbled_id_belong_to_the_request_before_and_stay_as_they_were() -> None:
    garbled, garbage = exchanges([
        Event(0.0, 0, True, ask(1)), Event(0.1, 0, False, say(99, 7)),
        Event(1.0, 0, True, ask(2)), Event(1.1, 0, False, b"\xff" * 9),
    ])  # fmt: skip
    assert [(piece.data, piece.own_id) for piece in garbled.pieces] == [(say(99, 7), False)]
    assert [(piece.data, piece.own_id) for piece in garbage.pieces] == [(b"\xff" * 9, False)]


def test_a_reply_that_came_twice_comes_twice() -> None:
    (one,) = exchanges([Event(0.0, 0, True, ask(1)), Event(0.1, 0, False, say(1, 7) * 2)])
    assert replies(one) == [(0.1, say(1, 7)), (0.1, say(1, 7))]


def test_connections_are_told_apart() -> None:
    one, other = exchanges([
        Event(0.0, 0, True, ask(1, 1)), Event(0.01, 1, True, ask(1, 2)),
        Event(0.02, 1, False, say(1, 22)), Event(0.03, 0, False, say(1, 11)),
    ])  # fmt: skip
    assert (replies(one), replies(other)) == ([(0.03, say(1, 11))], [(0.01, say(1, 22))])


@given(st.integers(0, 2**32 - 1), st.integers(0, 10_000), st.data())
def test_a_stream_is_put_in_order_whatever_was_repeated_or_overtaken(
    start: int, seed: int, data: st.DataObject
) -> None:
    frames = b"".join(ask(tid) for tid in range(1, 9))
    cuts = sorted({0, len(frames), *data.draw(st.lists(st.integers(1, len(frames) - 1), max_size=8))})
    parts = [segment((start + a) & 0xFFFFFFFF, frames[a:b], 0.001 * n) for n, (a, b) in enumerate(pairwise(cuts))]
    rest = [*parts[1:], *parts[:2]]
    random.Random(seed).shuffle(rest)
    events = events_of([parts[0], *rest])
    assert b"".join(event.data for event in events) == frames


def test_missing_bytes_and_a_capture_that_cut_packets_off_are_refused() -> None:
    with pytest.raises(CaptureError, match=r"misses bytes from 10\.0\.0\.1:40000 to 10\.0\.0\.2:502"):
        events_of([segment(1, ask(1)), segment(100, ask(2))])
    with pytest.raises(CaptureError, match="-s 0"):
        events_of([segment(1, ask(1), cut=True)])


def test_of_several_devices_one_has_to_be_named() -> None:
    other = Segment(0.0, CLIENT, ("10.0.0.3", 502), 1, False, ask(2, 7), False)
    both = [segment(1, ask(1, 3)), other]
    with pytest.raises(CaptureError, match=r"10\.0\.0\.2:502, 10\.0\.0\.3:502"):
        events_of(both)
    (event,) = events_of(both, ("10.0.0.3", 502))
    assert event.data == ask(2, 7)
    with pytest.raises(CaptureError, match=r"nobody spoke to 10\.9\.9\.9:1"):
        events_of(both, ("10.9.9.9", 1))


@given(st.binary(max_size=100))
def test_frames_and_what_is_left_are_all_that_was_there(data: bytes) -> None:
    frames, rest, _ = cut(data)
    assert b"".join(frames) + rest == data

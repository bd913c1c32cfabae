"""The reply stream: whatever the cuts and whatever lies between, a request gets its own reply or none."""

import itertools
import struct

from hypothesis import given
from hypothesis import strategies as st

from fieldkit.frames import Frame, ReplyStream


def framed(tid: int, pdu: bytes, unit: int = 1) -> bytes:
    return struct.pack(">HHHB", tid, 0, len(pdu) + 1, unit) + pdu


def feed_all(stream: ReplyStream, data: bytes, cuts: list[int], tid: int) -> list[Frame]:
    edges = [0, *sorted({c % (len(data) + 1) for c in cuts}), len(data)]
    found = [stream.feed(data[a:b], tid) for a, b in itertools.pairwise(edges) if a != b]
    return [f for f in found if f is not None]


pdus = st.binary(min_size=2, max_size=60).filter(lambda p: p[0] < 0x80)


@given(late=st.lists(pdus, max_size=5), answer=pdus, cuts=st.lists(st.integers(0, 1000), max_size=12))
def test_late_replies_before_the_answer_never_replace_it_however_the_stream_is_cut(
    late: list[bytes], answer: bytes, cuts: list[int]
) -> None:
    stream = ReplyStream()
    stream.owed = set(range(1, len(late) + 1))
    stream.sent()
    data = b"".join(framed(n + 1, p) for n, p in enumerate(late)) + framed(100, answer)
    assert feed_all(stream, data, cuts, 100) == [Frame(1, answer[0], answer[1:])]
    assert (stream.late, stream.owed) == (len(late), set())


@given(junk=st.binary(max_size=300), cuts=st.lists(st.integers(0, 1000), max_size=12))
def test_noise_never_raises_and_gives_a_reply_only_under_the_right_id(junk: bytes, cuts: list[int]) -> None:
    stream = ReplyStream()
    for frame in feed_all(stream, junk, cuts, 0x1234):
        assert b"\x12\x34\x00\x00" in junk
        assert frame.data in junk


@given(noise=st.binary(min_size=1, max_size=7), answer=pdus)
def test_leftovers_are_dropped_at_the_next_request_unless_a_late_reply_is_owed(noise: bytes, answer: bytes) -> None:
    stream = ReplyStream()
    assert stream.feed(noise, 1) is None
    stream.sent()
    assert stream.feed(framed(2, answer), 2) == Frame(1, answer[0], answer[1:])
    assert stream.stray == 1


def test_a_broken_stream_says_why_and_takes_no_more_until_it_starts_again() -> None:
    stream = ReplyStream()
    assert stream.feed(b"\x00\x01\x00\x09\x00\x03\x01\x04", 1) is None
    assert "protocol 9" in stream.broken
    assert stream.feed(framed(1, b"\x04\x02\x00\x00"), 1) is None
    stream.restart()
    assert stream.feed(framed(1, b"\x04\x02\x00\x00"), 1) == Frame(1, 4, b"\x02\x00\x00")

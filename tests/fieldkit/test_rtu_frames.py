"""Which bytes of a serial line answer which request."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldkit.frames import Frame
from fieldkit.pdu import Request, read_request, write_request
from fieldkit.reading import Reason
from fieldkit.rtu_frames import Line, RtuStream, crc, framed

LATE_S = 1.0


def reply(unit: int, address: int, count: int, function: int = 3) -> bytes:
    """Registers that hold their own addresses."""
    words = [(address + n) & 0xFFFF for n in range(count)]
    return framed(unit, struct.pack(f">BB{count}H", function, 2 * count, *words))


def ask(stream: RtuStream, request: Request, now_s: float = 0.0) -> bytes:
    frame = framed(request.unit, request.pdu)
    stream.sent(request, frame, now_s)
    return frame


def data(found: Frame | None) -> bytes:
    assert found is not None
    return found.data


A = read_request(1, "holding", 100, 2)
B = read_request(1, "holding", 200, 2)
C = read_request(1, "holding", 300, 3)


@pytest.mark.parametrize(
    ("body", "expected"),
    [("02 04 06 00 00 00 00 00 01", "b5 a3"), ("01 03 00 00 00 0a", "c5 cd"), ("11 03 00 6b 00 03", "76 87")],
)
def test_the_crc_is_the_one_that_makers_print(body: str, expected: str) -> None:
    assert crc(bytes.fromhex(body)) == bytes.fromhex(expected)


@pytest.mark.parametrize(
    ("line", "text", "character_ms", "pause_ms", "gap_ms"),
    [
        (Line(9600, "N", 1), "9600 8N1", 10 / 9.6, 15 / 9.6, 35 / 9.6),
        (Line(19200, "E", 1), "19200 8E1", 11 / 19.2, 16.5 / 19.2, 38.5 / 19.2),
        (Line(19200, "N", 2), "19200 8N2", 11 / 19.2, 16.5 / 19.2, 38.5 / 19.2),
        (Line(115200, "E", 1), "115200 8E1", 11 / 115.2, 0.75, 1.75),
    ],
)
def test_the_times_of_a_line_follow_from_its_speed_and_form(
    line: Line, text: str, character_ms: float, pause_ms: float, gap_ms: float
) -> None:
    assert str(line) == text
    assert line.character_s * 1e3 == pytest.approx(character_ms)
    assert line.pause_s * 1e3 == pytest.approx(pause_ms)
    assert line.gap_s * 1e3 == pytest.approx(gap_ms)
    assert line.frame_s(8) == 8 * line.character_s


@given(st.integers(1, 12), st.binary(max_size=6))
def test_a_reply_cut_anywhere_behind_any_noise_is_the_exact_reply(cut: int, noise: bytes) -> None:
    stream = RtuStream(LATE_S)
    ask(stream, C)
    wire = noise + reply(1, 300, 3)
    first = stream.feed(wire[:cut], 0.1)
    found = first if first is not None else stream.feed(wire[cut:], 0.2)
    assert data(found) == reply(1, 300, 3)[2:-2]
    assert stream.noise == len(noise)


@given(st.binary(max_size=300))
def test_no_bytes_whatever_make_a_reply_or_an_error_that_is_not_ours(junk: bytes) -> None:
    stream = RtuStream(LATE_S)
    ask(stream, A)
    good = reply(1, 100, 2)
    if good not in junk:
        found = stream.feed(junk, 0.1)
        assert found is None or crc(bytes((found.unit, found.function)) + found.data)
    stream.give_up(0.2)
    ask(stream, C, 5.0)
    assert data(stream.feed(reply(1, 300, 3), 5.1)) == reply(1, 300, 3)[2:-2]


def test_a_read_of_the_same_length_is_held_back_until_the_late_reply_came_or_cannot_come_any_more() -> None:
    stream = RtuStream(LATE_S)
    ask(stream, A, 10.0)
    assert stream.give_up(10.3) is None
    assert stream.held_back_s(B, 10.4) == pytest.approx(0.6)
    assert stream.held_back_s(A, 10.4) == pytest.approx(0.6), "its own late reply would be older than it seems"
    assert stream.held_back_s(C, 10.4) == 0.0
    assert stream.held_back_s(read_request(2, "holding", 200, 2), 10.4) == 0.0
    assert stream.held_back_s(read_request(1, "input", 200, 2), 10.4) == 0.0
    assert stream.feed(reply(1, 100, 2), 10.5) is None
    assert stream.late == 1
    assert stream.held_back_s(B, 10.5) == 0.0
    ask(stream, B, 20.0)
    stream.give_up(20.3)
    assert stream.held_back_s(A, 20.99) > 0.0
    assert stream.held_back_s(A, 21.0) == 0.0


def test_a_late_reply_before_the_right_one_is_dropped() -> None:
    stream = RtuStream(LATE_S)
    ask(stream, A, 10.0)
    stream.give_up(10.3)
    ask(stream, C, 10.4)
    assert data(stream.feed(reply(1, 100, 2) + reply(1, 300, 3), 10.5)) == reply(1, 300, 3)[2:-2]
    assert (stream.late, stream.stray) == (1, 0)


def test_a_late_reply_right_behind_the_right_one_is_accounted_for_too() -> None:
    stream = RtuStream(LATE_S)
    ask(stream, A, 10.0)
    stream.give_up(10.3)
    ask(stream, C, 10.4)
    assert data(stream.feed(reply(1, 300, 3) + reply(1, 100, 2), 10.5)) == reply(1, 300, 3)[2:-2]
    assert (stream.late, stream.late_units) == (1, [1])
    assert stream.held_back_s(B, 10.5) == 0.0


def test_an_exception_is_the_late_ones_first() -> None:
    refusal = framed(1, b"\x83\x02")
    stream = RtuStream(LATE_S)
    ask(stream, A, 10.0)
    stream.give_up(10.3)
    ask(stream, C, 10.4)
    assert stream.feed(refusal, 10.5) is None
    found = stream.feed(refusal, 10.6)
    assert found is not None
    assert (found.function, found.data) == (0x83, b"\x02")


def test_a_frame_that_nobody_asked_for_makes_its_kind_suspect() -> None:
    stream = RtuStream(LATE_S)
    ask(stream, A, 10.0)
    assert stream.feed(reply(1, 100, 2), 10.1) is not None
    assert stream.held_back_s(B, 10.1) == 0.0
    assert stream.feed(reply(1, 100, 2), 10.2) is None
    assert stream.stray == 1
    assert stream.held_back_s(B, 10.3) == pytest.approx(0.9)
    assert stream.feed(reply(1, 100, 2), 10.4) is None, "as late as it was suspected"
    assert stream.held_back_s(B, 10.4) == 0.0


@pytest.mark.parametrize(
    ("wire", "reason", "words"),
    [
        (reply(2, 100, 2), Reason.WRONG_ID, "answered by unit 2 with function 3"),
        (reply(1, 100, 2, function=4), Reason.WRONG_ID, "answered by unit 1 with function 4"),
        (reply(1, 100, 1), Reason.SHORT_REPLY, "asked for 4 bytes, got 2"),
        (reply(1, 100, 3), Reason.SHORT_REPLY, "asked for 4 bytes, got 6"),
        (reply(1, 100, 2)[:5], Reason.SHORT_REPLY, "half a frame: 5 bytes"),
        (reply(1, 100, 2)[:-1] + b"\x00", Reason.SHORT_REPLY, "CRC error: 9 bytes"),
    ],
)
def test_what_came_instead_of_a_reply_is_told(wire: bytes, reason: Reason, words: str) -> None:
    stream = RtuStream(LATE_S)
    ask(stream, A)
    assert stream.feed(wire, 0.1) is None
    why = stream.give_up(0.3)
    assert why is not None
    assert why[0] is reason
    assert words in why[1]


@pytest.mark.parametrize("missing", [None, *range(8)])
@pytest.mark.parametrize("at_once", [True, False])
def test_an_echo_without_the_option_is_told_and_is_never_data(missing: int | None, at_once: bool) -> None:
    stream = RtuStream(LATE_S)
    sent = ask(stream, A)
    echo = sent if missing is None else sent[:missing] + sent[missing + 1 :]
    pieces = [echo + reply(1, 100, 2)] if at_once else [echo, reply(1, 100, 2)]
    assert [stream.feed(piece, 0.1) for piece in pieces] == [None] * len(pieces)
    why = stream.give_up(0.3)
    assert why is not None
    assert why[0] is Reason.ECHO
    assert "local_echo: true" in why[1]
    assert stream.echoes == 1


def test_an_echo_that_has_the_form_of_a_reply_is_no_reply() -> None:
    """The request for 24 coils at 0x0312 is, byte for byte, a valid answer of three bytes."""
    stream = RtuStream(LATE_S)
    sent = ask(stream, read_request(1, "coil", 0x0312, 24))
    assert stream.feed(sent, 0.1) is None
    assert (stream.give_up(0.2) or ("",))[0] is Reason.ECHO
    ask(stream, read_request(1, "coil", 0x0312, 24), 5.0)
    assert stream.feed(b"\x00" + sent, 5.1) is None
    assert (stream.give_up(5.2) or ("",))[0] is Reason.ECHO


def test_an_expected_echo_is_taken_off_however_it_is_cut() -> None:
    for cut in range(1, 16):
        stream = RtuStream(LATE_S, local_echo=True)
        wire = ask(stream, A) + reply(1, 100, 2)
        found = stream.feed(wire[:cut], 0.1)
        assert found is None
        assert data(stream.feed(wire[cut:], 0.1)) == reply(1, 100, 2)[2:-2]
        assert stream.echoes == 0


@pytest.mark.parametrize("missing", range(8))
def test_an_expected_echo_that_comes_damaged_is_told_and_what_follows_it_is_no_data(missing: int) -> None:
    stream = RtuStream(LATE_S, local_echo=True)
    sent = ask(stream, A)
    assert stream.feed(sent[:missing] + sent[missing + 1 :] + reply(1, 100, 2), 0.1) is None
    assert (stream.give_up(0.2) or ("",))[0] is Reason.ECHO


def test_an_expected_echo_that_does_not_come_is_told() -> None:
    stream = RtuStream(LATE_S, local_echo=True)
    ask(stream, A)
    stream.feed(b"\x01\x03", 0.1)
    assert stream.give_up(0.2) == (Reason.ECHO, "the echo of 8 bytes ended after 2")


def test_the_late_acknowledgement_of_another_value_is_not_this_writes() -> None:
    stream = RtuStream(LATE_S)
    ask(stream, write_request(1, "holding", 5, [7]), 10.0)
    stream.give_up(10.3)
    new = write_request(1, "holding", 5, [8])
    assert stream.held_back_s(new, 10.3) == 0.0, "a write never waits"
    ask(stream, new, 10.3)
    assert stream.feed(framed(1, b"\x06" + b"\x00\x05\x00\x07"), 10.4) is None
    assert data(stream.feed(framed(1, new.pdu), 10.5)) == new.echo
    assert stream.late == 1


def test_two_writes_of_one_block_are_owed_two_acknowledgements() -> None:
    block = write_request(1, "holding", 5, [7, 8])
    acknowledged = framed(1, b"\x10" + block.echo)
    stream = RtuStream(LATE_S)
    ask(stream, block, 10.0)
    stream.give_up(10.3)
    ask(stream, block, 10.4)
    assert data(stream.feed(acknowledged, 10.5)) == block.echo
    ask(stream, A, 10.6)
    assert stream.feed(acknowledged, 10.7) is None
    assert (stream.late, stream.stray) == (1, 0)
    assert data(stream.feed(reply(1, 100, 2), 10.8)) == reply(1, 100, 2)[2:-2]


def test_an_acknowledgement_of_something_else_reaches_whoever_compares_it() -> None:
    stream = RtuStream(LATE_S)
    ask(stream, write_request(1, "holding", 5, [7]))
    assert data(stream.feed(framed(1, b"\x06\x00\x05\x00\x09"), 0.1)) == b"\x00\x05\x00\x09"


def test_a_request_that_was_answered_owes_nothing() -> None:
    stream = RtuStream(LATE_S)
    ask(stream, A)
    assert stream.feed(reply(1, 100, 2), 0.1) is not None
    assert stream.give_up(0.1) is None
    assert stream.held_back_s(B, 0.1) == 0.0


def test_a_line_that_babbles_fills_no_memory_and_its_replies_are_found_all_the_same() -> None:
    stream = RtuStream(LATE_S)
    for _ in range(100):
        stream.feed(b"\x55" * 100, 0.0)
    assert len(stream._rest) <= 600
    ask(stream, A)
    assert data(stream.feed(b"\x55" * 3000 + reply(1, 100, 2), 0.1)) == reply(1, 100, 2)[2:-2]
    assert stream.noise >= 12_000


def test_after_an_echo_that_did_not_come_the_line_is_read_again() -> None:
    stream = RtuStream(LATE_S, local_echo=True)
    ask(stream, A, 10.0)
    assert (stream.give_up(10.3) or ("",))[0] is Reason.ECHO
    assert stream.held_back_s(B, 10.4) > 0.0
    stream.feed(reply(1, 100, 2), 10.5)
    assert stream.late == 1
    assert stream.held_back_s(B, 10.5) == 0.0

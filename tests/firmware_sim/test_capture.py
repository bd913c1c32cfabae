"""Recordings on disk: what the recorder writes is read, and a damaged file is refused in words."""

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firmware_sim.capture import head, line, load
from firmware_sim.parts.conversation import Event
from firmware_sim.parts.pcap import CaptureError
from firmware_sim.replayed import Replayed, Unknown
from tests.firmware_sim.packets import classic
from tests.firmware_sim.parts.test_conversation import ask, say
from tests.firmware_sim.parts.test_pcap import FORMS

EVENTS = [
    Event(0.0, 0, True, ask(1)),
    Event(0.25, 0, False, say(1, 7)),
    Event(1.0, 0, True, ask(2)),
    Event(1.1, 0, False, say(2, 8)),
]
WHOLE = "\n".join([head("10.0.0.2:502"), *map(line, EVENTS)]).encode()


def test_what_the_recorder_writes_is_read_again(tmp_path: Path) -> None:
    (file := tmp_path / "one.jsonl").write_bytes(WHOLE)
    assert [(one.request, [piece.data for piece in one.pieces]) for one in load(file)] == [
        (ask(1)[2:], [say(1, 7)]),
        (ask(2)[2:], [say(2, 8)]),
    ]


def test_a_packet_capture_is_read_by_the_same_door(tmp_path: Path) -> None:
    (file := tmp_path / "one.pcapng").write_bytes(FORMS["pcapng"])
    assert len(load(file)) == 1


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"{}", "line 1: capture is None"),
        (b'{"capture": "modbus-tcp/1"}', "nobody asks anything"),
        (WHOLE + b"\n[]", "line 6 is no JSON object"),
        (WHOLE + b"\n{", "line 6 is no JSON"),
        (WHOLE.replace(b'"client"', b'"cat"', 1), "line 2 .*client or device"),
        (WHOLE.replace(b'"hex": "', b'"hex": "x', 1), "line 2 is no line of a recording"),
        (classic([]), "nobody asks anything"),
    ],
)
def test_a_file_that_is_no_recording_is_refused(tmp_path: Path, data: bytes, why: str) -> None:
    (file := tmp_path / "bad").write_bytes(data)
    with pytest.raises(CaptureError, match=why):
        load(file)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, len(WHOLE)), st.binary(max_size=4))
def test_no_damage_brings_an_exception_of_anothers(tmp_path: Path, at: int, junk: bytes) -> None:
    (file := tmp_path / "damaged").write_bytes(WHOLE[:at] + junk + WHOLE[at + len(junk) :])
    with suppress(CaptureError):
        load(file)


def test_a_replayed_device_answers_in_the_recorded_order_and_then_from_the_first_again(tmp_path: Path) -> None:
    (file := tmp_path / "one.jsonl").write_bytes(WHOLE)
    heard: list[str] = []
    device = Replayed(load(file), told=heard.append)
    answers = [device.answer(ask(tid)) for tid in (11, 12, 13)]
    assert [[piece.data[-1] for piece in pieces] for pieces in answers] == [[7], [8], [7]]
    assert [round(pieces[0].after_s, 3) for pieces in answers] == [0.25, 0.1, 0.25]
    assert len(heard) == 1
    assert "more often than it was recorded" in heard[0]


def test_what_was_never_recorded_is_told_once_and_gets_what_was_chosen(tmp_path: Path) -> None:
    (file := tmp_path / "one.jsonl").write_bytes(WHOLE)
    heard: list[str] = []
    device = Replayed(load(file), told=heard.append)
    (piece,) = device.answer(ask(5, address=77))
    assert piece.data == bytes.fromhex("0005 0000 0003 01 84 0b")
    device.answer(ask(6, address=77))
    assert heard == ["unit 1: read input 77, count 1 was never recorded: exception 0x0B"]
    assert device.summary() == "answered 0 requests as recorded; 2 were never recorded (1 kinds)"
    assert Replayed(load(file), otherwise=Unknown.DROP).answer(ask(5, address=77)) == []


def test_a_recording_is_lines_of_json() -> None:
    assert [json.loads(text)["from"] for text in WHOLE.splitlines()[1:]] == ["client", "device"] * 2

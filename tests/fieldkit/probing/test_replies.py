"""What a device says of itself, and where in a line's bytes its reply is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldkit.probing.replies import ask_objects, objects, printable, rtu_reply, server_id
from fieldkit.rtu_frames import framed

# The example of the application protocol 1.1b3, 6.21: three basic objects.
REPLY = bytes.fromhex("2b 0e 01 01 00 00 03") + b"\x00\x05Acme!" + b"\x01\x02AB" + b"\x02\x05V2.11"


def test_basic_identification_is_taken_apart() -> None:
    found = objects(REPLY)
    assert found is not None
    assert found.texts == {0: "Acme!", 1: "AB", 2: "V2.11"}
    assert found.more is None


def test_a_device_with_more_objects_says_where_to_go_on() -> None:
    found = objects(bytes.fromhex("2b 0e 01 01 ff 02 01") + b"\x00\x01A")
    assert found is not None
    assert found.more == 2


@pytest.mark.parametrize("cut", range(1, len(REPLY)))
def test_half_a_list_of_objects_is_none(cut: int) -> None:
    assert objects(REPLY[:cut]) is None


def test_the_request_names_category_and_object() -> None:
    assert ask_objects(1, 0) == bytes.fromhex("2b 0e 01 00")


def test_a_server_id_is_text_or_hex() -> None:
    assert server_id(b"\x11\x04Meter"[:6]) == "Mete"
    assert server_id(bytes.fromhex("11 03 01 ff 80")) == "01 ff 80"


@pytest.mark.parametrize("pdu", [b"", b"\x11", b"\x11\x00", b"\x11\x05ab", b"\x91\x01", b"\x03\x02ab"])
def test_what_is_no_server_id_is_none(pdu: bytes) -> None:
    assert server_id(pdu) is None


def test_a_version_with_dots_is_text() -> None:
    assert printable(b"2.9.0\x00\x00") == "2.9.0"
    assert printable(b"ab\x01cdefg") == "ab.cdefg"
    assert printable(b"\x00\x00") == "00 00"


@given(st.binary(max_size=80))
def test_no_bytes_raise(data: bytes) -> None:
    objects(data)
    server_id(data)
    rtu_reply(data, 1, 3)


@given(st.binary(max_size=10), st.integers(1, 247))
def test_a_reply_is_found_behind_noise_only_of_its_unit_and_function(noise: bytes, unit: int) -> None:
    pdu = b"\x03\x02\x12\x34"
    stream = noise + framed(unit, pdu)
    assert rtu_reply(stream, unit, 3) == pdu
    assert rtu_reply(framed(unit, pdu), unit, 4) is None
    assert rtu_reply(framed(unit, pdu), (unit % 247) + 1, 3) is None


@pytest.mark.parametrize("pdu", [REPLY, b"\x11\x03abc", b"\x83\x02", b"\x06\x00\x01\x00\x02", b"\x10\x00\x01\x00\x02"])
def test_every_kind_of_reply_is_found_once_it_is_whole(pdu: bytes) -> None:
    frame = framed(9, pdu)
    assert rtu_reply(frame, 9, pdu[0] & 0x7F) == pdu
    assert all(rtu_reply(frame[:cut], 9, pdu[0] & 0x7F) is None for cut in range(len(frame)))

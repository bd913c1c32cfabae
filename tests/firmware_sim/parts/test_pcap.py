"""Packet captures are read whatever their form, and a damaged one is refused in words."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_sim.parts.conversation import events_of, exchanges
from firmware_sim.parts.pcap import CaptureError, segments
from tests.firmware_sim.packets import CLIENT, DEVICE, LINKS, Packet, classic, ng, tcp

ASK = bytes.fromhex("000100000006 01 04 0000 0001")
SAY = bytes.fromhex("000100000005 01 04 02 1234")
TALK = [
    Packet(1.0, tcp(CLIENT, DEVICE, 9, b"", syn=True)),
    Packet(1.1, tcp(CLIENT, DEVICE, 10, ASK)),
    Packet(1.25, tcp(DEVICE, CLIENT, 500, SAY)),
]
FORMS = {
    **{f"classic, link {link}": classic(TALK, link=link) for link in LINKS},
    "big-endian": classic(TALK, order=">"),
    "nanoseconds": classic(TALK, nano=True),
    "pcapng": ng(TALK),
    "pcapng, big-endian": ng(TALK, order=">"),
    "pcapng, nanoseconds": ng(TALK, resolution=9),
    "pcapng, raw": ng(TALK, link=101),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_same_conversation_is_read_from_every_form(form: str) -> None:
    (one,) = exchanges(events_of(segments(FORMS[form])))
    assert (one.tid, one.request) == (ASK[:2], ASK[2:])
    ((after_s, data, own_id),) = one.pieces
    assert (data, own_id) == (SAY, True)
    assert after_s == pytest.approx(0.15, abs=2e-6)


@pytest.mark.parametrize("packet", [b"", b"\x60" + b"\0" * 60, b"\x45" + b"\0" * 40], ids=["empty", "IPv6", "UDP"])
def test_what_is_no_tcp_over_ipv4_is_passed_over(packet: bytes) -> None:
    assert segments(classic([Packet(1.0, packet)], link=101)) == []
    assert len(segments(classic([Packet(1.0, packet), *TALK], link=101))) == 3


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "nothing"),
        (b"GIF89a", "neither pcap nor pcapng"),
        (FORMS["big-endian"][:30], "in the middle"),
        (FORMS["big-endian"][:-1], "the file has"),
        (FORMS["pcapng"][:-1], "the file has"),
        (classic(TALK, link=1)[:20] + b"\x93\0\0\0" + classic(TALK)[24:], "link type 147"),
    ],
)
def test_a_damaged_capture_is_refused_and_the_refusal_says_where(data: bytes, why: str) -> None:
    with pytest.raises(CaptureError, match=why):
        segments(data)


@given(
    st.sampled_from(sorted(FORMS)),
    st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), max_size=6),
    st.integers(0, 2000),
)
def test_no_damage_brings_an_exception_of_anothers(form: str, edits: list[tuple[int, int]], length: int) -> None:
    data = bytearray(FORMS[form])
    for at, value in edits:
        data[at % len(data)] = value
    with suppress(CaptureError):
        exchanges(events_of(segments(bytes(data[: max(1, length)]))))


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for magic in (b"", FORMS["big-endian"][:24], FORMS["pcapng"][:28]):
        with suppress(CaptureError):
            exchanges(events_of(segments(magic + data)))

"""Requests as bytes."""

import pytest

from fieldkit.pdu import read_request, write_request


@pytest.mark.parametrize(
    ("table", "count", "pdu", "size"),
    [
        ("coil", 9, "01 0010 0009", 3),
        ("discrete", 8, "02 0010 0008", 2),
        ("holding", 125, "03 0010 007d", 251),
        ("input", 1, "04 0010 0001", 3),
    ],
)
def test_a_read_names_table_address_and_count_and_knows_the_size_of_its_reply(
    table: str, count: int, pdu: str, size: int
) -> None:
    request = read_request(7, table, 16, count)
    assert request.pdu == bytes.fromhex(pdu)
    assert (request.size, request.is_read, request.unit) == (size, True, 7)
    assert str(request) == f"function {int(pdu[:2])}, address 16, count {count}"


@pytest.mark.parametrize(
    ("table", "words", "multiple", "pdu", "echo", "says"),
    [
        ("holding", [0x1234], False, "06 0005 1234", "0005 1234", True),
        ("holding", [0x1234], True, "10 0005 0001 02 1234", "0005 0001", False),
        ("holding", [1, 0xFFFF], False, "10 0005 0002 04 0001 ffff", "0005 0002", False),
        ("coil", [1], False, "05 0005 ff00", "0005 ff00", True),
        ("coil", [0], False, "05 0005 0000", "0005 0000", True),
        ("coil", [1], True, "0f 0005 0001 01 01", "0005 0001", False),
        ("coil", [1, 0, 0, 0, 0, 0, 0, 0, 1], False, "0f 0005 0009 02 01 01", "0005 0009", False),
    ],
)
def test_a_write_knows_the_echo_that_acknowledges_it(
    table: str, words: list[int], multiple: bool, pdu: str, echo: str, says: bool
) -> None:
    request = write_request(1, table, 5, words, multiple=multiple)
    assert request.pdu == bytes.fromhex(pdu)
    assert request.echo == bytes.fromhex(echo)
    assert (request.size, request.is_read, request.says_its_value) == (4, False, says)


@pytest.mark.parametrize(
    ("ask", "what"),
    [
        (lambda: read_request(1, "input", 0, 126), "126 of input in one read; allowed: 1..125"),
        (lambda: read_request(1, "coil", 0, 2001), "allowed: 1..2000"),
        (lambda: read_request(1, "input", 0, 0), "allowed: 1..125"),
        (lambda: read_request(256, "input", 0, 1), "unit 256"),
        (lambda: read_request(1, "input", 65535, 2), "the last is 65535"),
        (lambda: read_request(1, "input", -1, 2), "address -1"),
        (lambda: write_request(1, "holding", 0, []), "allowed: 1..123"),
        (lambda: write_request(1, "holding", 0, [0] * 124), "allowed: 1..123"),
        (lambda: write_request(1, "coil", 0, [0] * 1969), "allowed: 1..1968"),
        (lambda: write_request(1, "holding", 0, [65536]), "each is 0..65535"),
        (lambda: write_request(1, "holding", 0, [-1, 0]), "each is 0..65535"),
        (lambda: write_request(1, "discrete", 0, [1]), "cannot be written; allowed: holding, coil"),
    ],
)
def test_what_modbus_does_not_allow_is_refused_before_it_is_sent(ask: object, what: str) -> None:
    with pytest.raises(ValueError, match=what.replace("(", r"\(")):
        ask()  # type: ignore[operator]


def test_the_last_register_can_be_asked() -> None:
    assert read_request(255, "holding", 65535, 1).body == b"\xff\xff\x00\x01"

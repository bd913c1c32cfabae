"""Field cases of the transport, on Modbus TCP: what a device does to the wire, and what the daemon shows."""

import socket
import time
from collections.abc import Generator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from tests.wire.cases.device import CLOSE, Ask, Device, Script, Step, on_tcp, well
from tests.wire.cases.door import TRUE_WORDS, TRUTH, FieldRows, bad, because, field, good, rack_file, tcp

TIMEOUT_S = 0.2


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[Device, FieldRows], None, None]:
    """One daemon for all cases that need nothing special of its file."""
    with on_tcp() as device:
        device.registers = dict(TRUE_WORDS)
        with field(rack_file(tmp_path_factory.mktemp("transport"), tcp(device.address))) as rows:
            rows.until_true()
            yield device, rows


@pytest.fixture
def device(running: tuple[Device, FieldRows]) -> Generator[Device, None, None]:
    one, _ = running
    one.registers = dict(TRUE_WORDS)
    yield one
    one.script = well


@pytest.fixture
def rows(running: tuple[Device, FieldRows], device: Device) -> FieldRows:
    _, found = running
    found.until_true()
    return found


@pytest.mark.field_case("P001")
@pytest.mark.parametrize("which", [1, 3])
def test_a_late_reply_is_never_the_next_requests(device: Device, rows: FieldRows, which: int) -> None:
    count = 0

    def late(ask: Ask) -> Sequence[Step]:
        nonlocal count
        count += 1
        return [1.5 * TIMEOUT_S, ask.good()] if count % which == 0 else [ask.good()]

    since, connections = rows.mark(), device.connections
    device.script = late
    rows.wait(2.5)
    device.script = well
    rows.until_true()
    rows.never_wrong(since=since)
    assert any(row["reason"] == "timeout" for tag in TRUTH for row in rows.of(tag, since))
    assert device.connections - connections <= 4, "no storm of reconnections"


@pytest.mark.field_case("P002")
def test_a_garbled_transaction_id_is_no_data_and_is_told(device: Device, rows: FieldRows) -> None:
    since = rows.mark()
    device.script = lambda ask: [ask.framed(ask.answer(), tid=(ask.tid & 0xFF) << 8 | ask.tid >> 8 | 0x4000)]
    rows.until("TT-201", because("wrong_id"), since=since)
    rows.never_wrong(since=since)


@pytest.mark.field_case("P002")
def test_a_device_that_garbles_its_ids_is_read_when_its_row_says_so(tmp_path: Path) -> None:
    count = 0

    def garbled(ask: Ask) -> Sequence[Step]:
        nonlocal count
        count += 1
        late = [1.4 * TIMEOUT_S] if count % 7 == 0 else []
        return [*late, ask.framed(ask.answer(), tid=ask.tid ^ 0xFF00)]

    with on_tcp(garbled) as device:
        device.registers = dict(TRUE_WORDS)
        path = rack_file(tmp_path, tcp(device.address, more=", ignore_transaction_id: true"))
        with field(path) as rows:
            rows.until_true()
            rows.wait(3.0)
            rows.until_true()
            rows.never_wrong()
            assert device.connections > 1, "every timeout ended the connection"


@pytest.mark.field_case("P004")
@pytest.mark.parametrize("pause_s", [0.001, 0.05])
def test_a_reply_in_two_pieces_is_the_exact_value(device: Device, rows: FieldRows, pause_s: float) -> None:
    place = 0

    def cut(ask: Ask) -> Sequence[Step]:
        nonlocal place
        place = place % 12 + 1
        whole = ask.good()
        return [whole[:place], pause_s, whole[place:]]

    since = rows.mark()
    device.script = cut
    rows.wait(2.5)
    device.script = well
    rows.never_wrong(since=since)
    assert not [row for row in rows.of("TT-201", since) if bad(row)]


@pytest.mark.field_case("P004")
def test_a_piece_that_comes_after_the_timeout_is_no_value(device: Device, rows: FieldRows) -> None:
    since = rows.mark()
    device.script = lambda ask: [ask.good()[:12], 1.2 * TIMEOUT_S, ask.good()[12:]]
    rows.until("FT-201", bad, since=since)
    device.script = well
    rows.until_true()
    rows.never_wrong(since=since)


@pytest.mark.field_case("P005")
def test_an_exception_whose_length_leaves_out_the_code_is_an_exception(device: Device, rows: FieldRows) -> None:
    connections, since = device.connections, rows.mark()
    device.script = lambda ask: (
        [ask.framed(bytes([ask.function | 0x80, 2]), length=2)] if ask.address == 10 else [ask.good()]
    )
    rows.until("PT-201", because("exception"), since=since)
    rows.until("PT-202", lambda row: good(row, 150.0), since=since)
    device.script = well
    rows.until_true()
    assert device.connections == connections


@pytest.mark.field_case("P006")
def test_bytes_left_after_a_frame_spoil_nothing(device: Device, rows: FieldRows) -> None:
    since = rows.mark()
    device.script = lambda ask: [ask.good() + b"\xaa\xbb"]
    rows.wait(1.0)
    rows.until_true()
    rows.never_wrong(since=since)


@pytest.mark.field_case("P007")
def test_another_units_reply_is_never_this_ones(device: Device, rows: FieldRows) -> None:
    since = rows.mark()
    device.script = lambda ask: [ask.framed(ask.answer(), unit=9)]
    rows.until("TT-201", because("wrong_id"), since=since)
    rows.wait(0.5)
    assert rows.values("PT-201", since + 200) == {None}


@pytest.mark.field_case("P007")
def test_a_device_that_always_answers_as_unit_1_is_read_when_its_row_says_so(tmp_path: Path) -> None:
    with on_tcp(lambda ask: [ask.framed(ask.answer(), unit=1)]) as device:
        device.registers = dict(TRUE_WORDS)
        path = rack_file(tmp_path, tcp(device.address, unit=2, more=", ignore_unit: true"))
        with field(path) as rows:
            rows.until_true()


@pytest.mark.field_case("P008")
def test_a_device_that_closes_after_each_reply_loses_nothing(device: Device, rows: FieldRows) -> None:
    device.script = lambda ask: [ask.good(), CLOSE]
    rows.wait(0.3)
    since = rows.mark()
    rows.wait(2.0)
    shown = rows.of("TT-201", since)
    assert len(shown) > 20
    assert sum(good(row, 18.5) for row in shown) >= 0.99 * len(shown)


@pytest.mark.field_case("P009", "P017")
def test_twenty_closed_connections_cost_no_reading(device: Device, rows: FieldRows) -> None:
    since = rows.mark()
    for _ in range(20):
        device.hang_up()
        rows.wait(0.13)
    assert not [row for row in rows.of("TT-201", since) if bad(row)]
    rows.never_wrong(since=since)


@pytest.mark.field_case("P010", "P102")
def test_the_daemon_holds_one_connection_to_a_device(device: Device, rows: FieldRows) -> None:
    connections, asked = device.connections, len(device.asked)
    rows.wait(1.5)
    assert device.connections == connections
    assert len({ask.connection for ask in device.asked[asked:]}) == 1


@pytest.mark.field_case("P011")
def test_a_gateway_has_its_time_after_connecting(tmp_path: Path) -> None:
    made_s: dict[int, float] = {}

    def first(ask: Ask) -> Sequence[Step]:
        made_s.setdefault(ask.connection, ask.at_s)
        return [ask.good()]

    with on_tcp(first) as device:
        device.registers = dict(TRUE_WORDS)
        began_s = time.monotonic()
        with field(rack_file(tmp_path, tcp(device.address, more=", settle_s: 1.0"))) as rows:
            rows.until("TT-201", because("link_down"))
            rows.until_true()
        assert made_s[1] - began_s >= 1.0


@pytest.mark.field_case("P012")
def test_one_request_at_a_time_reaches_a_gateway(device: Device, rows: FieldRows) -> None:
    busy, most = 0, 0

    def slow(ask: Ask) -> Sequence[Step]:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        answer = [ask.good()]
        busy -= 1
        return [0.02, *answer]

    since, asked = rows.mark(), len(device.asked)
    device.script = slow
    rows.wait(1.0)
    times = [ask.at_s for ask in device.asked[asked + 1 :]]
    assert all(later - earlier >= 0.018 for earlier, later in pairwise(times))
    rows.never_wrong(since=since)


@pytest.mark.field_case("P014")
@pytest.mark.parametrize("code", [0x00, 0x05, 0x06, 0x0A, 0xE0])
def test_any_exception_costs_its_own_block_and_no_other(device: Device, rows: FieldRows, code: int) -> None:
    since = rows.mark()
    device.script = lambda ask: [ask.refused(code) if ask.address == 10 else ask.good()]
    rows.until("PT-201", because("exception"), since=since)
    here = rows.mark()
    rows.wait(0.5)
    assert {good(row, 150.0) for row in rows.of("PT-202", here)} == {True}
    assert {good(row, 18.5) for row in rows.of("TT-201", here)} == {True}


@pytest.mark.field_case("P017", "P018")
def test_a_device_that_is_away_is_tried_seldom_and_is_back_within_two_periods(tmp_path: Path) -> None:
    attempts: list[float] = []
    with on_tcp() as first:
        address, port = first.address, int(first.address.rpartition(":")[2])
        first.registers = dict(TRUE_WORDS)
        with field(rack_file(tmp_path, tcp(address))) as rows:
            rows.until_true()
            first.ended = True
            first.hang_up()
            for _ in range(50):
                first.hang_up()
                rows.wait(0.02)
    with socket.create_server(("127.0.0.1", port)) as server, field(rack_file(tmp_path, tcp(address))) as rows:
        server.settimeout(0.2)
        until_s = time.monotonic() + 4.0
        while time.monotonic() < until_s:
            try:
                wire, _ = server.accept()
            except TimeoutError:
                continue
            attempts.append(time.monotonic())
            wire.close()
        rows.until("TT-201", bad)
    gaps = [later - earlier for earlier, later in pairwise(attempts)]
    assert 2 <= len(attempts) <= 12
    assert min(gaps) > 0.15


@pytest.mark.field_case("P027")
def test_a_truncated_reply_makes_no_value_of_old_and_new_words(device: Device, rows: FieldRows) -> None:
    def short(ask: Ask) -> Sequence[Step]:
        if ask.address:
            return [ask.good()]
        device.registers[2] = 0x4400
        return [ask.framed(bytes([4, 6]) + ask.answer()[2:8])]

    since = rows.mark()
    device.script = short
    rows.until("FT-201", because("short_reply"), since=since)
    rows.wait(0.5)
    rows.never_wrong(since=since)
    assert rows.values("FT-201", rows.mark() - 200) <= {None, 500.0}


@pytest.mark.field_case("P033")
def test_a_block_that_answers_with_an_exception_stops_nobody_and_is_read_again(device: Device, rows: FieldRows) -> None:
    since = rows.mark()
    device.script = lambda ask: [ask.refused(4) if ask.address == 0 else ask.good()]
    rows.until("TT-201", because("exception"), since=since)
    device.registers[10] = 300
    rows.until("PT-201", lambda row: good(row, 300.0), since=since)
    device.script = well
    rows.until_true({"TT-201": 18.5, "PT-201": 300.0})


@pytest.mark.field_case("P038")
def test_a_slow_device_has_one_request_waiting_and_no_queue(device: Device, rows: FieldRows) -> None:
    device.script = lambda ask: [0.15, ask.good()]
    rows.wait(0.5)
    asked = len(device.asked)
    rows.wait(2.0)
    assert len(device.asked) - asked <= 2.0 / 0.15 + 2
    device.script = well
    began = len(device.asked)
    rows.wait(0.3)
    assert len(device.asked) - began <= 3 * (0.3 / 0.1 + 2), "nothing was left over to be asked at once"


@pytest.mark.field_case("P039", "P040")
def test_a_lost_devices_last_value_is_gone_at_once_and_no_old_number_returns(device: Device, rows: FieldRows) -> None:
    since = rows.mark()
    device.script = lambda ask: []
    rows.until("TT-201", bad, within_s=1.0, since=since)
    here = rows.mark()
    device.registers = dict.fromkeys(TRUE_WORDS, 1)
    rows.wait(2.0)
    assert {tag: rows.values(tag, here) for tag in TRUTH} == {tag: {None} for tag in TRUTH}


@pytest.mark.field_case("P100")
def test_a_timeout_and_a_refusal_are_told_apart(device: Device, rows: FieldRows) -> None:
    scripts: dict[str, Script] = {
        "timeout": lambda ask: [],
        "exception": lambda ask: [ask.refused(2)],
        "wrong_id": lambda ask: [ask.framed(ask.answer(), unit=7)],
        "short_reply": lambda ask: [ask.framed(ask.answer()[:-2])],
    }
    for reason, script in scripts.items():
        since = rows.mark()
        device.script = script
        rows.until("PT-202", because(reason), since=since)
        device.script = well
        rows.until_true()

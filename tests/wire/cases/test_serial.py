"""Field cases of serial lines and gateways, through the daemon's own reading."""

import os
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from pathlib import Path

import pytest

from tests.valvey.racks import ROOT
from tests.wire.cases.device import Ask, Device, Step, on_pty, on_tcp, well
from tests.wire.cases.door import (
    TRUE_WORDS,
    TRUTH,
    FieldRows,
    bad,
    because,
    bus,
    field,
    good,
    profile,
    rack_file,
    tcp,
)

SERIAL = "baud: 115200, parity: E, stop_bits: 1"
QUICK = ", late_reply_s: 0.5"


def rtu(address: str, serial: str = SERIAL) -> str:
    return f"rtu: {{port: {address}, {serial}}}"


def rtu_over_tcp(address: str) -> str:
    return f'rtu_over_tcp: "{address}", line: {{{SERIAL}}}'


def through_tcp() -> AbstractContextManager[Device]:
    return on_tcp(rtu=True)


WAYS = [(on_pty, rtu), (through_tcp, rtu_over_tcp)]
Way = tuple[Callable[[], AbstractContextManager[Device]], Callable[[str], str]]


@pytest.fixture(scope="module", params=WAYS, ids=["rtu", "rtu_over_tcp"])
def running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[tuple[Device, FieldRows], None, None]:
    way: Way = request.param
    with way[0]() as device:
        device.registers = dict(TRUE_WORDS)
        path = rack_file(tmp_path_factory.mktemp("serial"), bus(way[1](device.address), more=QUICK))
        with field(path) as rows:
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


@pytest.mark.field_case("P001", "P003")
@pytest.mark.parametrize("which", [2, 3, 5])
def test_a_late_reply_is_never_taken_for_another_register_of_the_same_length(
    device: Device, rows: FieldRows, which: int
) -> None:
    count = 0

    def late(ask: Ask) -> Sequence[Step]:
        nonlocal count
        count += 1
        return [0.3, ask.good()] if count % which == 0 else [ask.good()]

    since = rows.mark()
    device.script = late
    rows.wait(3.0)
    device.script = well
    rows.until_true()
    rows.never_wrong(since=since)
    assert any(row["reason"] == "timeout" for tag in TRUTH for row in rows.of(tag, since))


@pytest.mark.field_case("P003")
def test_a_reply_that_comes_twice_is_never_the_next_registers(device: Device, rows: FieldRows) -> None:
    since = rows.mark()
    device.script = lambda ask: [ask.good(), ask.good()]
    rows.wait(1.5)
    device.script = well
    rows.until_true()
    rows.never_wrong(since=since)


@pytest.mark.field_case("P015")
@pytest.mark.parametrize("missing", [None, 0, 3, 7])
def test_an_echo_without_its_option_is_told_and_is_never_data(
    device: Device, rows: FieldRows, missing: int | None
) -> None:
    def echo(ask: Ask) -> Sequence[Step]:
        sent = ask.request
        return [(sent if missing is None else sent[:missing] + sent[missing + 1 :]) + ask.good()]

    since = rows.mark()
    device.script = echo
    rows.until("PT-201", because("echo"), since=since)
    rows.never_wrong(since=since)


@pytest.mark.field_case("P015")
def test_an_adapter_that_echoes_is_read_with_its_option(tmp_path: Path) -> None:
    with on_pty(lambda ask: [ask.request, ask.good()]) as device:
        device.registers = dict(TRUE_WORDS)
        path = rack_file(tmp_path, bus(rtu(device.address, SERIAL + ", local_echo: true")))
        with field(path) as rows:
            rows.until_true()


@pytest.mark.field_case("P016")
def test_a_reply_that_a_gateway_cuts_into_packets_is_put_together(device: Device, rows: FieldRows) -> None:
    def packets(ask: Ask) -> Sequence[Step]:
        whole = ask.good()
        steps: list[Step] = []
        for at in range(0, len(whole), 3):
            steps += [whole[at : at + 3], 0.005]
        return steps

    since = rows.mark()
    device.script = packets
    rows.wait(1.5)
    assert not [row for row in rows.of("FT-201", since) if bad(row)]
    rows.never_wrong(since=since)


@pytest.mark.field_case("P016")
def test_rubbish_before_a_reply_is_stepped_over_and_half_a_frame_costs_one_reading(
    device: Device, rows: FieldRows
) -> None:
    since = rows.mark()
    device.script = lambda ask: [b"\x00\xc8" + ask.good()]
    rows.wait(0.7)
    assert not [row for row in rows.of("FT-201", since) if bad(row)]
    device.script = lambda ask: [ask.good()[:-4]]
    rows.until("FT-201", because("short_reply"), since=since)
    device.script = lambda ask: [ask.good()[:-1] + b"\x00"]
    rows.until("PT-201", because("short_reply"), since=since)
    device.script = well
    rows.until_true()
    rows.never_wrong(since=since)


@pytest.mark.field_case("P007")
def test_another_units_frame_on_the_line_is_no_data(device: Device, rows: FieldRows) -> None:
    since = rows.mark()
    device.script = lambda ask: [ask.framed(ask.answer(), unit=2)]
    rows.until("TT-201", because("wrong_id"), since=since)
    device.script = well
    rows.until_true()


@pytest.mark.field_case("P014")
def test_exceptions_on_a_line_cost_their_block_alone(device: Device, rows: FieldRows) -> None:
    since = rows.mark()
    device.script = lambda ask: [ask.refused(4) if ask.address == 10 else ask.good()]
    rows.until("PT-201", because("exception"), since=since)
    rows.until("PT-202", lambda row: good(row, 150.0), since=since)


@pytest.mark.field_case("P019")
def test_an_adapter_that_comes_back_under_another_number_is_found_by_its_name(tmp_path: Path) -> None:
    name = tmp_path / "usb-adapter-port0"
    with on_pty() as first:
        first.registers = dict(TRUE_WORDS)
        name.symlink_to(first.address)
        path = rack_file(tmp_path, bus(rtu(str(name))))
        rows_of = field(path)
        rows = rows_of.__enter__()
        rows.until_true()
    try:
        name.unlink()
        rows.until("TT-201", because("link_down"))
        cpu_s = cpu_of(rows.process.pid)
        rows.wait(2.0)
        assert cpu_of(rows.process.pid) - cpu_s < 1.2, (
            "no busy loop; the rest is the printing of 40 rows 20 times a second"
        )
        held = [os.readlink(fd) for fd in Path(f"/proc/{rows.process.pid}/fd").iterdir()]
        assert not [target for target in held if target.startswith("/dev/pts")], "the dead descriptor is not held"
        with on_pty() as second:
            second.registers = dict(TRUE_WORDS)
            name.symlink_to(second.address)
            rows.until_true(within_s=15.0)
    finally:
        rows_of.__exit__(None, None, None)


def cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# -- gateways of several units -----------------------------------------------------------------------------------------

UNITS = {1: "cdu", 2: "feeder_meter", 3: "busbar_meter", 4: "leak_panel"}
SHARED = ("limits:\n", "shared_path: {accepted_by: A. Person}\nlimits:\n")


def gateway_file(folder: Path, address: str) -> Path:
    """Four devices behind one gateway, all as the case's device; TT-201 of each is what counts."""
    text = (ROOT / "configs" / "rack.yaml").read_text(encoding="utf-8")
    edits = [SHARED]
    for unit, name in UNITS.items():
        if name != "cdu":
            line = next(line for line in text.splitlines() if line.startswith(f"  {name}:"))
            number = line.partition("192.168.10.")[2].partition(":")[0]
            edits.append((f'"127.0.0.1:{int(number) - 10}", unit: 1', f'"{address}", unit: {unit}'))
    return rack_file(folder, tcp(address, unit=1), *edits)


TAG_OF = {1: "PT-202", 2: "JT-101", 3: "ET-101", 4: "LDT-101"}


def zeros(ask: Ask) -> Sequence[Step]:
    return [ask.good()]


@pytest.mark.field_case("P034", "P035")
def test_one_silent_unit_of_four_slows_nobody_and_resets_nothing(tmp_path: Path) -> None:
    silent: set[int] = set()

    def script(ask: Ask) -> Sequence[Step]:
        return [] if ask.unit in silent else [0.002, ask.good()]

    with on_tcp(script) as device:
        device.registers = dict(TRUE_WORDS)
        with field(gateway_file(tmp_path, device.address)) as rows:
            for tag in TAG_OF.values():
                rows.until(tag, lambda row: not bad(row) or row["reason"] in {"range", "stuck"})
            rows.wait(2.0)
            before = asks_a_second(device, 2.0)
            silent.add(2)
            rows.until("JT-101", because("timeout"))
            rows.wait(1.0)
            after = asks_a_second(device, 3.0)
            assert device.connections == 1
            for unit in (1, 3, 4):
                assert after[unit] >= 0.8 * before[unit], (before, after)
            assert after[2] < 2, "left alone, tried now and then"
            rows.until("PT-202", lambda row: good(row, 150.0), since=rows.mark())


def asks_a_second(device: Device, seconds: float) -> dict[int, float]:
    since = len(device.asked)
    time.sleep(seconds)
    asked = device.asked[since:]
    return {unit: sum(ask.unit == unit for ask in asked) / seconds for unit in UNITS}


@pytest.mark.field_case("P012")
def test_exception_0b_means_that_one_unit_is_away(tmp_path: Path) -> None:
    with on_tcp(lambda ask: [ask.refused(0x0B) if ask.unit == 2 else ask.good()]) as device:
        device.registers = dict(TRUE_WORDS)
        with field(gateway_file(tmp_path, device.address)) as rows:
            rows.until("JT-101", because("exception"))
            rows.until("PT-202", lambda row: good(row, 150.0))
            since = rows.mark()
            rows.wait(2.0)
            assert {good(row, 150.0) for row in rows.of("PT-202", since)} == {True}
            assert device.connections == 1


@pytest.mark.field_case("P013")
def test_a_gateway_that_answers_0b_for_all_is_connected_anew(tmp_path: Path) -> None:
    sick: set[int] = set()

    def script(ask: Ask) -> Sequence[Step]:
        return [ask.refused(0x0B) if ask.connection in sick else ask.good()]

    with on_tcp(script) as device:
        device.registers = dict(TRUE_WORDS)
        with field(gateway_file(tmp_path, device.address)) as rows:
            rows.until("PT-202", lambda row: good(row, 150.0))
            sick.add(1)
            rows.until("PT-202", because("exception"))
            rows.until("PT-202", lambda row: good(row, 150.0), within_s=20.0, since=rows.mark())
            assert 2 <= device.connections <= 3


@pytest.mark.field_case("P035")
def test_a_gateway_that_stands_still_is_found_and_comes_back(tmp_path: Path) -> None:
    with on_tcp() as device:
        device.registers = dict(TRUE_WORDS)
        with field(gateway_file(tmp_path, device.address)) as rows:
            rows.until("PT-202", lambda row: good(row, 150.0))
            rows.wait(0.5)
            device.script = lambda ask: []
            frozen_s, since = time.monotonic(), rows.mark()
            for tag in ("PT-202", "PT-201"):
                rows.until(tag, bad, within_s=2.0, since=since)
            assert time.monotonic() - frozen_s < 3 * 0.25 + 0.3
            device.script = well
            rows.until("PT-202", lambda row: good(row, 150.0), within_s=15.0, since=rows.mark())


@pytest.mark.field_case("P036")
def test_a_device_that_needs_a_gap_gets_it(tmp_path: Path) -> None:
    head = profile().replace("min_gap_s: 0.0", "min_gap_s: 0.05")
    with on_tcp() as device:
        device.registers = dict(TRUE_WORDS)
        with field(rack_file(tmp_path, tcp(device.address), device=head)) as rows:
            rows.until_true()
            times = [ask.at_s for ask in device.asked]
            assert min(later - earlier for earlier, later in pairwise(times)) >= 0.045

"""Serial lines in a rack's file: what is refused, what it costs, and how the links to them are shared."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fieldkit.bus import UnitBus
from fieldkit.errors import Fault
from fieldkit.links import Links
from fieldkit.modbus import TcpLink
from fieldkit.rtu_frames import Line
from tests.valvey.racks import faults, rack, write
from valvey.cli import build
from valvey.config import to_limits
from valvey.config_check_buses import warnings
from valvey.ladder import responses
from valvey.lines import MOST_SHARE, line_plans

BY_ID = "/dev/serial/by-id/usb-FTDI_FT232R-if00-port0"
FEEDER = 'feeder_meter:     {tcp: "192.168.10.15:502", unit: 1, profile: schneider_pm5xxx, timeout_s: 0.25}'
CDU = 'cdu:              {tcp: "192.168.10.100:502", unit: 1, profile: racky_cdu, timeout_s: 0.25}'
PANEL = 'leak_panel:       {tcp: "192.168.10.13:502", unit: 1, profile: racky_leak-panel, timeout_s: 0.25}'
TRANSMITTERS = (
    'transmitters:     {tcp: "192.168.10.12:502", unit: 1, profile: racky_loop-transmitters, timeout_s: 0.25}'
)
VALVES = 'valve_controller: {tcp: "192.168.10.11:502", unit: 1, profile: racky_valve-controller, timeout_s: 0.25, write_connection: own}'
SHARED = ("limits:\n", "shared_path: {accepted_by: A. Person}\nlimits:\n")
SLOWER = ("fast_s: 0.02", "fast_s: 0.05")


def rtu(port: str = BY_ID, baud: int = 19200, more: str = "") -> str:
    return f"rtu: {{port: {port}, baud: {baud}, parity: E, stop_bits: 1{more}}}"


def on(row: str, way: str, unit: int = 1, more: str = "") -> tuple[str, str]:
    """One edit: a device of the example reached another way."""
    new = row.replace(row[row.index("tcp:") : row.index(", unit: 1")], way).replace("unit: 1", f"unit: {unit}")
    return row, new.replace("}", "}", 1)[:-1] + f"{more}}}"


def told(found: tuple[Fault, ...]) -> list[tuple[str, str, str | None]]:
    return [(one.key, one.message, one.allowed) for one in found]


def test_a_meter_on_a_serial_line_is_sound_and_its_line_is_reckoned(tmp_path: Path) -> None:
    config = rack(tmp_path, on(FEEDER, rtu()))
    (line,) = line_plans(config)
    assert (line.way, line.buses, line.settings.line) == (BY_ID, ("feeder_meter",), Line(19200, "E", 1))
    (read,) = line.exchanges
    ms = 1000 * read.takes_s
    # 8 + 9 characters of 11 bits at 19200 baud, a gap of 3.5 characters, and 10 ms before the reply.
    assert ms == pytest.approx(17 * 11 / 19.2 + 3.5 * 11 / 19.2 + 10.0)
    assert line.share == pytest.approx(read.takes_s / 0.2)


def test_the_response_sheet_holds_the_lines_time(tmp_path: Path) -> None:
    def scan_s(config_edits: tuple[tuple[str, str], ...], row: str) -> tuple[float, float]:
        config = rack(tmp_path, *config_edits)
        line = next(one for one in responses(config, to_limits(config)) if one.row.startswith(row))
        return line.scan_s, line.write_s

    before, after = scan_s((SLOWER,), "SIF-1/"), scan_s((SLOWER, on(PANEL, rtu())), "SIF-1/")
    (line,) = line_plans(rack(tmp_path, SLOWER, on(PANEL, rtu())))
    assert after[0] - before[0] == pytest.approx(line.cycle_s("fast"), abs=1e-5)
    assert after[1] == before[1]


def test_a_plan_that_the_line_cannot_carry_is_refused_and_what_would_fit_is_told(tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, on(PANEL, rtu()))
    assert fault.key == "buses.leak_panel.rtu"
    assert fault.line is not None
    assert "the plan is impossible" in fault.message
    assert "at 19200 8E1 would be busy" in fault.message
    assert fault.allowed is not None
    least_s = float(fault.allowed.partition("fast_s at least ")[2].partition(",")[0])
    assert 0.02 < least_s < 0.05
    assert faults(tmp_path, ("fast_s: 0.02", f"fast_s: {least_s + 0.0005}"), on(PANEL, rtu())) == ()
    assert faults(tmp_path, SLOWER, on(PANEL, rtu())) == ()
    assert faults(tmp_path, on(PANEL, rtu(baud=115200))) == ()


@pytest.mark.parametrize(
    ("edits", "key", "words", "allowed"),
    [
        ((on(FEEDER, rtu().replace("timeout", "timeout")), ("0.25}\n  cdu", "0.02}\n  cdu")), "buses.feeder_meter.timeout_s", "is too short", "at least 0.0"),
        ((on(FEEDER, rtu(baud=14400)),), "buses.feeder_meter.rtu.baud", "no speed", "19200"),
        ((on(FEEDER, rtu(), more=", late_reply_s: 0.1"),), "buses.feeder_meter.late_reply_s", "shorter than timeout_s", "at least 0.25"),
        ((on(CDU, 'tcp: "192.168.10.100:502"', more=", late_reply_s: 1.0"),), "buses.cdu.late_reply_s", "numbers its requests", "leave it out"),
        ((on(FEEDER, rtu(), more=", line: {baud: 9600, parity: N, stop_bits: 1}"),), "buses.feeder_meter.line", "beside rtu", "leave it out"),
        ((on(FEEDER, rtu(), more=", ignore_unit: true"),), "buses.feeder_meter.ignore_unit", "belongs to Modbus TCP", "leave it out"),
        ((on(FEEDER, 'tcp: "192.168.10.100:502"', unit=2, more=", ignore_unit: true"),), "buses.feeder_meter.ignore_unit", "more than one device", "only device"),
        ((on(FEEDER, rtu()), on(CDU, rtu())), "buses.cdu.rtu", "is the same device as bus feeder_meter", "one bus a device"),
        ((on(FEEDER, rtu()), on(CDU, rtu(baud=9600), unit=2)), "buses.cdu.rtu", "one speed and form", "the same as feeder_meter"),
        ((on(FEEDER, rtu() + ', tcp: "192.168.10.15:502"'),), "buses.feeder_meter", "exactly one of tcp, rtu, rtu_over_tcp", None),
        ((on(FEEDER, "rtu_over_tcp: 192.168.10.15"),), "buses.feeder_meter.rtu_over_tcp", "", "text like"),
        ((on(FEEDER, rtu(port="ttyUSB0")),), "buses.feeder_meter.rtu.port", "", "text like"),
        ((on(FEEDER, rtu().replace("parity: E", "parity: even")),), "buses.feeder_meter.rtu.parity", "", "N, E, O"),
        ((on(FEEDER, rtu().replace(", parity: E", "")),), "buses.feeder_meter.rtu.parity", "missing", None),
        ((SLOWER, on(TRANSMITTERS, rtu(baud=115200), more=", late_reply_s: 6.0")), "buses.transmitters.late_reply_s", "could make SIF-", "below "),
        ((SLOWER, on(VALVES, rtu(baud=115200))), "buses.valve_controller.write_connection", "one line", "shared"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_line_is_told_with_its_key_and_what_is_allowed(
    tmp_path: Path, edits: tuple[tuple[str, str], ...], key: str, words: str, allowed: str | None
) -> None:
    found = [one for one in told(faults(tmp_path, *edits)) if one[0] == key]
    assert found, told(faults(tmp_path, *edits))
    assert words in found[0][1]
    if allowed is not None:
        assert allowed in (found[0][2] or "")


def test_a_silent_neighbour_must_not_make_a_lines_readings_stale(tmp_path: Path) -> None:
    edits = (on(FEEDER, rtu()), on(CDU, rtu(), unit=2), ("0.25}\n  cdu", "0.6}\n  cdu"))
    found = told(faults(tmp_path, *edits))
    assert [key for key, _, _ in found] == ["buses.feeder_meter.timeout_s"]
    assert "PT-201 on the same line is not read for so long that it is stale (after 0.6 s)" in found[0][1]
    assert faults(tmp_path, *edits[:2]) == ()


def test_outputs_on_a_line_with_others_need_somebody_who_answers_for_it(tmp_path: Path) -> None:
    valves = on(VALVES, rtu(baud=115200))
    edits = (SLOWER, (valves[0], valves[1].replace("own", "shared")), on(FEEDER, rtu(baud=115200), unit=2))
    assert ["carries outputs" in message for _, message, _ in told(faults(tmp_path, *edits))] == [True]
    assert faults(tmp_path, *edits, SHARED) == ()


def test_names_that_change_are_warned_of_and_pseudo_terminals_only_on_a_real_rack(tmp_path: Path) -> None:
    def told_of(port: str, *edits: tuple[str, str]) -> list[str]:
        return [one.message for one in warnings(rack(tmp_path, on(FEEDER, rtu(port=port)), *edits))]

    assert told_of(BY_ID) == []
    assert told_of("/dev/ttyS1") == []
    assert "the number changes" in told_of("/dev/ttyUSB0")[0]
    assert "the number changes" in told_of("/dev/ttyACM1", ("simulated: false", "simulated: true"))[0]
    assert "is no stable name" in told_of("/dev/pts/3")[0]
    assert told_of("/dev/pts/3", ("simulated: false", "simulated: true")) == []


def test_check_config_shows_each_line_and_its_warnings(tmp_path: Path) -> None:
    path = write(tmp_path, on(FEEDER, rtu(port="/dev/ttyUSB0")))
    document = json.loads(CliRunner().invoke(build("check-config"), ["check-config", str(path), "-o", "json"]).stdout)
    assert document["ok"]
    (line,) = document["lines"]
    assert (line["line"], line["settings"], line["buses"]) == ("/dev/ttyUSB0", "19200 8E1", ["feeder_meter"])
    assert 0 < line["share"] <= MOST_SHARE
    assert line["cycle_s"].keys() == {"normal"}
    assert document["warnings"][0]["key"] == "buses.feeder_meter.rtu.port"
    text = CliRunner().invoke(build("check-config"), ["check-config", str(path)]).output
    assert "19200 8E1" in text
    assert "/dev/serial/by-id" in text


def test_devices_of_one_gateway_share_one_link_and_others_have_their_own(tmp_path: Path) -> None:
    buses = rack(tmp_path, on(FEEDER, 'tcp: "192.168.10.100:502"', unit=2)).data.buses
    links = Links(buses, dict.fromkeys(buses, 0.0), dict.fromkeys(buses, 1.0))
    cdu, feeder, panel = (links.read(name) for name in ("cdu", "feeder_meter", "leak_panel"))
    assert isinstance(cdu, UnitBus)
    assert isinstance(feeder, UnitBus)
    assert isinstance(panel, TcpLink)
    assert cdu._link is feeder._link
    assert [links.shares(name) for name in ("cdu", "feeder_meter", "leak_panel")] == [True, True, False]


def test_reads_through_the_write_side_of_a_serial_line_go_first(tmp_path: Path) -> None:
    valves = on(VALVES, rtu(baud=115200))
    buses = rack(tmp_path, SLOWER, (valves[0], valves[1].replace("own", "shared"))).data.buses
    links = Links(buses, dict.fromkeys(buses, 0.0), dict.fromkeys(buses, 1.0))
    reads, writes = links.read("valve_controller"), links.write("valve_controller")
    assert isinstance(reads, UnitBus)
    assert isinstance(writes, UnitBus)
    assert reads._link is writes._link
    assert (reads._first, writes._first) == (False, True)

"""Field cases of files, start and logs: the daemon's command line and its running process."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.valvey.racks import ROOT
from tests.wire.cases.device import on_tcp
from tests.wire.cases.door import POINTS, TRUE_WORDS, bad, because, field, good, profile, rack_file, tcp


def check(path: Path) -> tuple[int, dict[str, Any]]:
    """Run ``valvey check-config`` as a process; return its exit code and its one document."""
    command = [sys.executable, "-m", "valvey", "check-config", str(path), "-o", "json"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=ROOT)
    return ended.returncode, json.loads(ended.stdout)


def errors(path: Path) -> list[dict[str, Any]]:
    code, document = check(path)
    assert (code, document["ok"]) == (2, False)
    found: list[dict[str, Any]] = document["errors"]
    return found


CDU = tcp("127.0.0.1:6")


@pytest.mark.field_case("P061")
@pytest.mark.parametrize(
    ("edit", "key", "nearest"),
    [
        (("hold_s: 1.0", "hodl_s: 1.0"), "trips.SIF-2.hodl_s", "hold_s"),
        (("rating_kw: 132.0", "rating_kw: 132.0\n  hold_s: 1.0"), "limits.hold_s", None),
        (("memory:", "memry: 1\nmemory:"), "memry", "memory"),
        (("lag_s: 1.0}\n  FT-102", "lag_s: 1.0, lagg_s: 1.0}\n  FT-102"), "tags.FT-101.lagg_s", "lag_s"),
    ],
)
def test_a_misspelt_key_at_any_level_is_refused_with_its_line_and_the_nearest(
    tmp_path: Path, edit: tuple[str, str], key: str, nearest: str | None
) -> None:
    (fault,) = errors(rack_file(tmp_path, CDU, edit))
    assert fault["key"] == key
    assert isinstance(fault["line"], int)
    assert nearest is None or fault["nearest"] == nearest


@pytest.mark.field_case("P061")
def test_the_daemon_refuses_what_the_check_refuses(tmp_path: Path) -> None:
    path = rack_file(tmp_path, CDU, ("hold_s: 1.0", "hodl_s: 1.0"))
    for command in ("run", "field"):
        ended = subprocess.run(
            [sys.executable, "-m", "valvey", command, str(path)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ended.returncode == 2
        assert "hodl_s" in ended.stderr


@pytest.mark.field_case("P062")
@pytest.mark.parametrize(("address", "hint"), [(30001, "write 0"), (40011, None), (300011, "write 10")])
def test_a_sheets_register_number_is_refused_with_the_wire_address(
    tmp_path: Path, address: int, hint: str | None
) -> None:
    points = {**POINTS, "pt_201": POINTS["pt_201"].replace("address: 10", f"address: {address}")}
    path = rack_file(tmp_path, CDU, device=profile(points))
    if hint is None:
        assert check(path)[0] == 0, "40011 is no number of an input register"
        return
    (fault,) = [one for one in errors(path) if "points.pt_201" in one["key"]]
    assert hint in fault["message"]


@pytest.mark.field_case("P062")
def test_registers_0_and_65535_can_be_read(tmp_path: Path) -> None:
    points = {**POINTS, "pt_201": POINTS["pt_201"].replace("address: 10", "address: 65535")}
    with on_tcp() as device:
        device.registers = {**TRUE_WORDS, 65535: 250}
        with field(rack_file(tmp_path, tcp(device.address), device=profile(points))) as rows:
            rows.until_true()


@pytest.mark.field_case("P063", "P042")
@pytest.mark.parametrize(
    ("edits", "key"),
    [
        ((("flow_nominal_lpm: 198.0", "flow_nominal_lpm: 198.0\n  flow_ll_fraction: 0.5"),), "limits.flow_ll_fraction"),
        ((("fast_s: 0.05, normal_s: 0.1", "fast_s: 0.05, normal_s: 0.01"),), "scan"),
        ((("blind_s: 5.0", "blind_s: 0.5"),), "trips.SIF-2.blind_s"),
        ((("hold_s: 1.0", "hold_s: 0.05"),), "trips.SIF-2.hold_s"),
        ((("timeout_s: 0.25, write", "timeout_s: 1.25, write"),), "buses.valve_controller.timeout_s"),
    ],
)
def test_numbers_that_contradict_each_other_are_refused_and_none_is_changed(
    tmp_path: Path, edits: tuple[tuple[str, str], ...], key: str
) -> None:
    found = errors(rack_file(tmp_path, CDU, *edits))
    assert key in [fault["key"] for fault in found]
    assert all(fault["allowed"] for fault in found if fault["key"] == key)


@pytest.mark.field_case("P072")
@pytest.mark.parametrize(
    ("edit", "key", "allowed"),
    [
        (("hold_s: 1.0", "hold_s: 0.0"), "trips.SIF-2.hold_s", "at_once: true"),
        (("blind_s: 5.0", "blind_s: 0"), "trips.SIF-2.blind_s", "above 0"),
        (("at_once: true", "at_once: false"), "trips.SIF-7.at_once", "true"),
    ],
)
def test_0_means_neither_at_once_nor_never(tmp_path: Path, edit: tuple[str, str], key: str, allowed: str) -> None:
    (fault,) = errors(rack_file(tmp_path, CDU, edit))
    assert fault["key"] == key
    assert allowed in fault["allowed"]


@pytest.mark.field_case("P018")
def test_nobody_can_set_how_soon_a_link_is_tried_again(tmp_path: Path) -> None:
    (fault,) = errors(rack_file(tmp_path, tcp("127.0.0.1:6", more=", reconnect_delay_s: 0")))
    assert fault["key"] == "buses.cdu.reconnect_delay_s"


@pytest.mark.field_case("P020", "P076")
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("type: s16, ", "", "type"),
        ("type: s16, ", "type: bit, bit: 0, ", "invert"),
        ("scale: 0.1, raw_unit: degC, unit: degC, ", "scale: 0.1, ", "raw_unit"),
    ],
)
def test_type_unit_and_polarity_have_to_be_stated(tmp_path: Path, old: str, new: str, words: str) -> None:
    points = {**POINTS, "tt_201": POINTS["tt_201"].replace(old, new)}
    found = errors(rack_file(tmp_path, CDU, device=profile(points)))
    assert any("tt_201" in fault["key"] and words in fault["key"] + fault["message"] for fault in found), found


@pytest.mark.field_case("P064")
def test_the_field_library_is_bounded_and_has_one_user(tmp_path: Path) -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r'"pymodbus>=3\.16,<3\.17"', text)
    users = [
        path.relative_to(ROOT).as_posix()
        for package in ("fieldkit", "valvey", "racky", "firmware_sim")
        for path in (ROOT / package).rglob("*.py")
        if re.search(r"^\s*(from|import) pymodbus", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert users == ["fieldkit/modbus.py"]


@pytest.mark.field_case("P065", "P094")
def test_devices_that_are_not_there_are_bad_points_and_no_reason_not_to_start(tmp_path: Path) -> None:
    with on_tcp() as device:
        device.registers = dict(TRUE_WORDS)
        with field(rack_file(tmp_path, tcp(device.address))) as rows:
            rows.until("LDT-101", because("link_down"))
            rows.until("PT-201", lambda row: good(row, 250.0))
            rows.wait(1.0)
            assert {bad(row) for row in rows.of("LDT-101")} == {True}


class Guard:
    """A running ``valvey run`` and what it logs."""

    def __init__(self, path: Path) -> None:
        command = [sys.executable, "-m", "valvey", "run", str(path)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)

    def ended(self) -> str:
        self.process.terminate()
        out, complaints = self.process.communicate(timeout=20)
        return out + complaints


@pytest.fixture
def guard(tmp_path: Path) -> Iterator[Guard]:
    """A guard of a rack of which only the CDU is there, with its memory in the test's folder."""
    with on_tcp() as device:
        device.registers = dict(TRUE_WORDS)
        path = rack_file(
            tmp_path,
            tcp(device.address),
            ("/var/lib/valvey/r01", str(tmp_path / "memory")),
            ("/run/valvey/r01", str(tmp_path / "run")),
        )
        running = Guard(path)
        yield running
        if running.process.poll() is None:
            running.process.kill()
            running.process.communicate()


@pytest.mark.field_case("P097", "P100")
def test_absent_devices_are_told_once_with_device_unit_and_cause(guard: Guard) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        guard.process.communicate(timeout=6)
    log = guard.ended()
    lines = [line for line in log.splitlines() if "valve_controller" in line and "refused" in line.lower()]
    assert 1 <= len(lines) <= 6, log[-3000:]
    assert "127.0.0.1:1" in lines[0]
    assert len(log.splitlines()) < 150, "six seconds of five absent devices"

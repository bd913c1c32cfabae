"""Field cases of what is shown: maps that fit by chance, and texts from devices, brokers and files on a person's screen."""

import json
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.wire.broker import broker, listening, needs_mosquitto
from tests.wire.cases.device import Ask, Step, on_tcp, well
from tests.wire.cases.door import HEAD, profile
from tests.wire.guarded import ROOT

SCRIPT = "<img src=x onerror=alert(1)>"
STEERING = "\x1b[31m\x1b]0;owned\x07\r\nlatched    nothing"
FLOATS = (230.1, 231.7, 229.5, 12.3)


def valvey(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "valvey", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=40.0, check=False, cwd=ROOT)


def point(kind: str, address: int, unit: str, span: str, more: str = "") -> str:
    scale = "" if kind == "f32" else "scale: 1, "
    return f'{{table: holding, address: {address}, type: {kind}, {scale}raw_unit: {unit}, unit: {unit}, range: {span}{more}, verified: none, cite: case}}'  # fmt: skip


def profiles(folder: Path, points: dict[str, str], identity: str = "null") -> Path:
    text = profile(points, HEAD.replace("word_order: ABCD", "word_order: CDAB"))
    text = text.replace("identity: null", f"identity: {identity}").replace("case_device", "case_meter")
    (folder / "case_meter.yaml").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.field_case("P022")
def test_a_map_that_is_off_by_one_and_in_the_wrong_order_reads_well_and_fails_the_check(tmp_path: Path) -> None:
    words = struct.unpack(">8H", struct.pack(">4f", *FLOATS))
    model = point("u16", 100, '"-"', "[0, 65535]")
    volts = {f"u_{n}": point("f32", 1 + 2 * n, "V", "[0, 300]") for n in range(3)}
    folder = profiles(tmp_path, {**volts, "model": model}, "{point: model, expect: 7.0}")
    with on_tcp() as device:
        device.registers = {**dict(enumerate(words)), 100: 8}
        shown = valvey("probe", device.address, "--profile", "case_meter", "--profiles-dir", str(folder), "-o", "json")
        assert shown.returncode == 1, shown.stderr
        assert "says that it is 8.0, which is not case_meter" in shown.stderr
        (match,) = json.loads(shown.stdout)["units"][0]["matches"]
        assert (match["points_sound"], match["likely"]) == (4, False), "every number is plausible, and that is no proof"
        asked = "--read", "holding:1", "--expect", "230.1", "--tolerance", "0.04", "--no-compare"
        fits = json.loads(valvey("probe", device.address, *asked, "-o", "json").stdout)["units"][0]["fits"]
        assert [(one["address"], one["order"]) for one in fits] == [(0, "ABCD")], "where the display's value really is"


@pytest.mark.field_case("P026")
def test_a_number_that_is_text_is_told(tmp_path: Path) -> None:
    points = {"leakage": point("u16", 5, "uA", "[0, 65535]"), "load": point("u16", 6, "W", "[0, 65535]")}
    with on_tcp() as device:
        device.registers = {5: 22616, 6: 250}
        shown = valvey(
            "probe", device.address, "--profile", "case_meter", "--profiles-dir", str(profiles(tmp_path, points))
        )
    assert shown.returncode == 0, shown.stderr
    assert 'leakage reads as the text "XX"' in shown.stdout
    assert "load reads" not in shown.stdout


def hostile(ask: Ask) -> Sequence[Step]:
    if ask.function == 0x2B:
        name = (SCRIPT + STEERING).encode()
        return [ask.framed(bytes((0x2B, 0x0E, 1, 1, 0, 0, 1, 0, len(name))) + name)]
    return [ask.framed(bytes((0x11, len(SCRIPT))) + SCRIPT.encode())] if ask.function == 0x11 else well(ask)


@pytest.mark.field_case("P105")
def test_a_device_that_calls_itself_a_script_steers_no_terminal() -> None:
    with on_tcp(hostile) as device:
        shown = valvey("probe", device.address, "--no-compare")
    assert shown.returncode == 0, shown.stderr
    assert SCRIPT in shown.stdout
    assert all(line.isprintable() for line in (shown.stdout + shown.stderr).splitlines())
    assert not any(line.startswith("latched") for line in shown.stdout.splitlines())


@pytest.mark.field_case("P105")
@needs_mosquitto
@pytest.mark.timeout(60)
async def test_what_stands_on_a_broker_forges_no_line_and_steers_no_terminal(tmp_path: Path) -> None:
    base = "racky/v1/demo/r01/valvey"
    about = {"v": 1, "simulated": False, "boot_id": "b"}
    latch = {"sif": "SIF-1" + STEERING, "since_wall_s": 1.0, "cause": SCRIPT + STEERING}
    lying = {
        **about, "wall_s": 1.0, "state": "ISOLATED" + STEERING, "step": "hold", "since_wall_s": 1.0, "state_seq": 1, "latches": [latch],
        "locks": [], "bypasses": [], "armed": True, "inventory": "full", "tested": True, "grants": [], "config_digest": "d",
    }  # fmt: skip
    there = {**about, "status": "online", "version": "1", "since_wall_s": 1.0}
    with broker(tmp_path) as mosquitto:
        async with listening(mosquitto.port) as listener:
            for name, payload in (("state", lying), ("availability", there)):
                await listener.client.publish(f"{base}/{name}", json.dumps(payload).encode(), 1, True)
        where = "--broker", f"127.0.0.1:{mosquitto.port}", "--site", "demo", "--rack", "r01"
        shown = valvey("status", *where)
        document = json.loads(valvey("status", *where, "-o", "json").stdout)
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert all(line.isprintable() for line in lines)
    assert len([line for line in lines if line.startswith("latched")]) == 1
    assert SCRIPT in shown.stdout
    assert document["state"]["state"].isprintable()


@pytest.mark.field_case("P105")
@pytest.mark.parametrize("key", ["site", "rack"])
def test_a_name_that_is_a_script_is_refused_in_the_file(tmp_path: Path, key: str) -> None:
    text = (ROOT / "configs" / "rack.yaml").read_text(encoding="utf-8")
    old = {"site": "site: demo", "rack": "rack: r01"}[key]
    file = tmp_path / "rack.yaml"
    file.write_text(text.replace(old, f'{key}: "{SCRIPT}\\x1b[31m"', 1), encoding="utf-8")
    shown = valvey("check-config", str(file))
    assert shown.returncode == 2
    assert all(line.isprintable() for line in (shown.stdout + shown.stderr).splitlines())

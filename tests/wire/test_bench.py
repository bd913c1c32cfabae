"""The bench itself: what it prints before it does anything, that it then touches nothing, and what it does to "hardware".

The hardware here is a simulator that the bench knows nothing of but addresses: all that tells it from devices on a table.
"""

import re
import socket
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from bench.rig import RackPlan, Rig

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "configs" / "bench.yaml"


def bench(*arguments: str, timeout_s: float = 50.0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "tests/hil", "-p", "no:pytest_cov", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False, cwd=ROOT)


@contextmanager
def listeners(count: int) -> Generator[list[socket.socket], None, None]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        yield sockets
    finally:
        for one in sockets:
            one.close()


def bench_file(folder: Path, places: dict[str, str], base: Path = ROOT / "configs" / "rack.yaml") -> Path:
    """A bench's file beside a rack's whose buses are at these places."""
    rack = yaml.safe_load(base.read_text(encoding="utf-8"))
    for bus, place in places.items():
        rack["buses"][bus]["tcp"] = place
    rack["profiles_dir"] = str(ROOT / "configs" / "profiles")
    if not Path(rack["policy"]).is_absolute():
        rack["policy"] = str(ROOT / "configs" / rack["policy"])
    folder.mkdir(exist_ok=True)
    (folder / "rack.yaml").write_text(yaml.safe_dump(rack))
    (folder / "bench.yaml").write_text(BENCH.read_text(encoding="utf-8"))
    return folder / "bench.yaml"


def test_a_dry_run_says_what_each_test_would_do_and_touches_nothing(tmp_path: Path) -> None:
    with listeners(6) as sockets:
        buses = yaml.safe_load((ROOT / "configs" / "rack.yaml").read_text(encoding="utf-8"))["buses"]
        places = {bus: f"127.0.0.1:{one.getsockname()[1]}" for bus, one in zip(buses, sockets, strict=True)}
        file, report = bench_file(tmp_path / "files", places), tmp_path / "report" / "report.html"
        done = bench("--target", "hil", "--bench", str(file), "--dry-run", "--report", str(report))
        for one in sockets:
            one.settimeout(0.0)
            with pytest.raises(BlockingIOError):
                one.accept()
    assert done.returncode == 0, done.stdout + done.stderr
    assert not report.parent.exists(), "nothing is written either"
    told = done.stdout.split("DRY RUN", 1)[1]
    tests = re.findall(r"^tests/hil/\S+::\S+$", told, flags=re.MULTILINE)
    collected = re.search(r"collected (\d+) items", done.stdout)
    assert collected is not None
    assert len(tests) == int(collected[1]) >= 18
    assert told.count("  starts    ") == len(tests)
    assert f"writes    XS-101 by valvey: valve_controller at {places['valve_controller']}, unit 1, holding 8" in told
    assert "person    wet LDT-101: rope in the tray below the manifold" in told
    assert f"person    pull the cable of transmitters ({places['transmitters']})" in told
    assert told.count("say --destructive") >= 10


def test_a_faulty_bench_file_is_one_clear_refusal(tmp_path: Path) -> None:
    (file := tmp_path / "bench.yaml").write_text(BENCH.read_text(encoding="utf-8").replace("LDT-103", "LDT-109"))
    (tmp_path / "rack.yaml").write_text(
        (ROOT / "configs" / "rack.yaml")
        .read_text(encoding="utf-8")
        .replace("policy: policies", f"policy: {ROOT}/configs/policies")
        + f"profiles_dir: {ROOT}/configs/profiles\n"
    )
    done = bench("--target", "hil", "--bench", str(file), "--dry-run")
    assert done.returncode == 2
    assert "the rack's file has no tag 'LDT-109'" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.timeout(90)
def test_the_same_tests_run_against_devices_that_are_only_known_by_their_addresses(tmp_path: Path) -> None:
    """Without --destructive: what may be done to a rack in service is, the rest is skipped, and both reports say so."""
    with Rig(tmp_path / "rig", [RackPlan("r01")]) as rig:
        places = {**rig.devices["r01"], "cdu": str(rig.ask("ports")["cdu"])}
        buses = yaml.safe_load(rig.config("r01").read_text())["buses"]
        file = bench_file(tmp_path / "files", {bus: places[bus] for bus in buses}, rig.config("r01"))
        report = tmp_path / "report" / "report.html"
        since = rig.mark()
        chosen = "every_configured or restart_of_valvey or wet_leak"
        done = bench("--target", "hil", "--bench", str(file), "--report", str(report), "-k", chosen, timeout_s=80.0)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "2 passed, 3 skipped" in done.stdout
        assert [one["what"] for one in rig.stamps(since, "r01") if one["what"].startswith("X")] == []
    page = report.read_text(encoding="utf-8")
    assert "on hardware" in page
    assert "product_code racky-valve-ctrl" in page
    suite = ET.parse(report.with_name("junit.xml")).getroot()
    told = {one.get("name"): one.get("value") for one in suite.iter("property")}
    assert len(str(told["configuration_digest"])) == 64
    assert "revision 1.0.0" in str(told["device_valve_controller"])
    assert str(told["software"]).startswith("racky-valvey ")

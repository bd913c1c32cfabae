"""``valvey shutdown --safe``: DARK at once, then cooled, throttled and isolated; only then does the daemon end."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.rig import ROOT, RackPlan
from tests.wire.broker import needs_mosquitto
from tests.wire.rig import racks_in_service, seconds

pytestmark = [needs_mosquitto, pytest.mark.long, pytest.mark.timeout(300)]

RAMP_S = 120.0


def test_a_safe_shutdown_goes_dark_then_isolates_and_ends_with_the_rack_shut(tmp_path: Path) -> None:
    rack = "r01"
    with racks_in_service(tmp_path, [RackPlan(rack)]) as (rig, bus, _):
        rig.guard(rack).restart = False
        since, begun_s = rig.mark(), time.monotonic()
        command = [sys.executable, "-m", "valvey", "shutdown", "--safe", str(rig.config(rack)), "--timeout", "280"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=290, check=False)
        assert done.returncode == 0, done.stderr
        print(f"shut down in {time.monotonic() - begun_s:.0f} s")
        assert rig.guard(rack).await_end(2.0)
        assert rig.guard(rack).lives[0].code == 0
        dark = rig.await_stamp(since, rack, "XS-101 command", 0.0)
        off = rig.await_stamp(since, rack, "XI-101", 0.0)
        supply = rig.await_stamp(since, rack, "XV-101 command", 0.0)
        back = rig.await_stamp(since, rack, "XV-102 command", 0.0)
        assert dark["seq"] < off["seq"] < supply["seq"] < back["seq"]
        assert seconds(off, supply) >= RAMP_S, "coolant flows on until the rack is cool and throttled"
        assert rig.await_stamp(since, rack, "ZSC-101", 1.0)["seq"] < back["seq"]
        rig.await_stamp(since, rack, "ZSC-102", 1.0)
        states = [event["fields"]["to"] for event in bus.events(rack) if event["fact"] == "transition"]
        assert states[-3:] == ["COOLDOWN", "ISOLATING", "ISOLATED"]

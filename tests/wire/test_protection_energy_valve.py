"""A guarded rack whose FCV-101 is a Belimo Energy Valve: it is steered, shut in an isolation, and missed by nobody else."""

import time
from pathlib import Path

from bench.rig import RackPlan, Rig, Stamp
from tests.wire.rig import seconds, wet

RACK, VALVE = "r01", "belimo-energy-valve-v4"
PLAN = RackPlan(
    RACK,
    also=(VALVE,),
    changes={
        "buses": {
            "energy_valve": {
                "tcp": f"@{VALVE}",
                "unit": 1,
                "profile": "belimo_energy-valve-v4",
                "timeout_s": 0.25,
                "write_connection": "shared",
            }
        },
        "tags": {
            "FCV-101": {"bus": "energy_valve", "point": "set_point"},
            "ZT-101": {"bus": "energy_valve", "point": "position", "lane": "fast"},
        },
    },
)


def commands(rig: Rig, since: int) -> list[Stamp]:
    """The commands that reached the energy valve, once there is one."""
    for _ in range(100):
        found = [stamp for stamp in rig.stamps(since, RACK, "command") if stamp["what"] == "set point command"]
        if found:
            return found
        time.sleep(0.05)
    return []


def test_an_energy_valve_is_steered_in_service_and_shut_in_an_isolation(tmp_path: Path) -> None:
    with Rig(tmp_path / "rig", [PLAN]) as rig:
        since = rig.mark()
        rig.start()
        rig.await_adopted(since)
        steered = commands(rig, since)
        assert {stamp["device"] for stamp in steered} == {VALVE}
        assert all(0 < stamp["value"] <= 10_000 for stamp in steered), steered
        assert rig.true(RACK)["flow_supply_lpm"] > 150.0

        since = wet(rig, RACK)
        begun = rig.await_stamp(since, RACK, "LDT-101", 1.0)
        shut = rig.await_stamp(since, RACK, "XV-101 command", 0.0)
        throttled = rig.await_stamp(since, RACK, "set point command", 0.0)
        assert seconds(begun, shut) < 1.0
        assert seconds(begun, throttled) < 1.5


def test_a_dead_energy_valve_delays_no_isolation(tmp_path: Path) -> None:
    with Rig(tmp_path / "rig", [PLAN]) as rig:
        since = rig.mark()
        rig.start()
        rig.await_adopted(since)
        rig.ask("fault_add", kind="no_reply", rack=RACK, device=VALVE)
        since = wet(rig, RACK)
        begun = rig.await_stamp(since, RACK, "LDT-101", 1.0)
        permit = rig.await_stamp(since, RACK, "XS-101 command", 0.0)
        shut = rig.await_stamp(since, RACK, "XV-101 command", 0.0)
        assert seconds(begun, permit) < 1.0
        assert seconds(begun, shut) < 1.0

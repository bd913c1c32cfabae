"""The broker is killed: the rack is guarded as before, and when it is back everything that happened is told, in order."""

import time
from functools import partial
from pathlib import Path

import pytest

from bench.bystander import Bystander
from bench.demands import LIMIT_MS
from bench.rig import RackPlan
from fieldkit.topics import Kind
from tests.wire.broker import needs_mosquitto
from tests.wire.rig import COMMANDS, FEEDBACK, changes, racks_in_service, wet

pytestmark = [needs_mosquitto, pytest.mark.timeout(90)]

HOLD_S = 0.2
"""SIF-1's in the first seconds after an adoption."""
BACK_S = 10.0
"""The longest a session waits between two attempts."""
RACKS = ("r01", "r02", "r03")


def test_a_killed_broker_costs_no_protection_and_no_event(tmp_path: Path) -> None:
    with racks_in_service(tmp_path, [RackPlan(name) for name in RACKS]) as (rig, bus, mosquitto):
        leaking, *others = RACKS
        for name in RACKS:
            bus.wait(partial(bus.all, name, Kind.TELEMETRY), 5.0, f"{name}: no telemetry")
        outage_since = rig.mark()
        mosquitto.kill()
        silent = len(bus.heard)
        time.sleep(0.5)
        since = wet(rig, leaking)
        leak = rig.await_stamp(since, leaking, "LDT-101", 1.0)
        write = rig.await_stamp(since, leaking, "XV-101 command", 0.0)
        latency_ms = (write["mono_ns"] - leak["mono_ns"]) / 1e6 - HOLD_S * 1e3
        print(f"leak -> write without a broker: {latency_ms:.2f} ms")
        assert latency_ms <= LIMIT_MS
        time.sleep(1.0)
        assert len(bus.heard) == silent

        mosquitto.start()
        back_s = time.monotonic()
        for name in RACKS:
            bus.wait(partial(bus.all, name, Kind.TELEMETRY, silent), BACK_S + 2.0, f"{name}: no telemetry after it")
        print(f"telemetry of all racks again after {time.monotonic() - back_s:.2f} s")
        bus.wait(lambda: "trip" in facts(bus, leaking, silent), 3.0, "the trip of the outage was not told")
        rig.await_stamp(since, leaking, "ZSC-102", 1.0, within_s=12.0)
        bus.await_state(leaking, "ISOLATED", 20.0)
        for name in RACKS:
            numbers = sorted({event["seq"] for event in bus.events(name)})
            assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), f"{name}: an event is missing"
        for name in others:
            assert changes(rig.stamps(outage_since, name), (*COMMANDS, *FEEDBACK)) == []
            assert bus.state(name)["state"] == "FLOWING"
        told = [fact for fact in facts(bus, leaking, silent) if fact in {"trip", "transition"}]
        assert told[:2] == ["trip", "transition"]


def facts(bus: Bystander, rack: str, since: int) -> list[str]:
    return [event["fact"] for event in bus.events(rack, since)]

"""A disk that is full, and a Valvey that dies while it is: it comes back, the rack goes on, and a leak still isolates it."""

import time
from pathlib import Path

import pytest

from bench import disks
from bench.bystander import Bystander
from bench.rig import RackPlan
from tests.wire.broker import needs_mosquitto
from tests.wire.rig import COMMANDS, FEEDBACK, OUTPUTS, changes, needs_own_disk, racks_in_service, wet

pytestmark = [needs_mosquitto, pytest.mark.timeout(90)]

RACKS = ("r01", "r02")


def test_a_kill_while_the_disk_is_full_moves_nothing_and_the_next_process_guards(tmp_path: Path) -> None:
    needs_own_disk(tmp_path / "try")
    with (
        disks.loop_disk(tmp_path) as disk,
        racks_in_service(tmp_path / "racks", [RackPlan(name) for name in RACKS], state=disk) as (rig, bus, _),
        disks.full(disk),
    ):
        bus.wait(lambda: all("storage-fault" in alarms(bus, name) for name in RACKS), 8.0, "no alarm of a full disk")
        since, heard = rig.mark(), len(bus.heard)
        for name in RACKS:
            rig.service.kill(name)
        for name in RACKS:
            assert rig.guard(name).await_life(2, 20.0), rig.tail(name)
            assert bus.await_back(name, heard)["state"] == "FLOWING"
        time.sleep(0.5)
        for name in RACKS:
            assert changes(rig.stamps(since, name), (*COMMANDS, *OUTPUTS, *FEEDBACK)) == []
            rig.await_stamp(wet(rig, name), name, "XV-101 command", 0.0)
            assert len(rig.guard(name).lives) == 2, "a full disk ends no process"


def alarms(bus: Bystander, rack: str) -> set[str]:
    return {event["fields"]["alarm"] for event in bus.events(rack) if event["fact"] == "alarm"}

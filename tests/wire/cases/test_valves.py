"""Field cases of valves and actuators: a daemon on a simulated rack, and writes that do not become what was written."""

import asyncio
import json
import socket
import time
from pathlib import Path

import pytest

from tests.wire.asking import BASE, a_request, answer, state, trips
from tests.wire.broker import broker, listening, needs_mosquitto
from tests.wire.cases.between import between, passed_on, refused, swallowed
from tests.wire.guarded import Guarded, guarded

pytestmark = [needs_mosquitto, pytest.mark.timeout(60)]

VALVES, PERMIT = 0, 8
"""First registers of the two write blocks."""
DEVICE_FAILURE, BUSY = 4, 6


def alarmed(rack: Guarded, name: str) -> list[str]:
    """The phases that an alarm went through."""
    return [line["phase"] for line in rack.lines("alarm") if line["alarm"] == name]


def commands(rack: Guarded, since: int, what: str) -> list[float]:
    return [one["value"] for one in rack.stamps("command", since=since, what=f"{what} command")]


@pytest.mark.field_case("P068")
def test_an_isolation_whose_writes_are_refused_is_tried_again_and_never_called_isolated(tmp_path: Path) -> None:
    with guarded(tmp_path) as rack, between(rack, "valve_controller") as wire:
        rack.start()
        rack.until_state("FLOWING", 5.0)
        wire.answer = refused(DEVICE_FAILURE, VALVES)
        since, begun_s = rack.last_seq(), time.monotonic()
        rack.bench.fault("wet", tag="LDT-101", value=1)
        rack.until(lambda: alarmed(rack, "write-late") == ["UNACK"], 5.0, "the alarm of the late write")
        tried = [one for one in wire.writes if one.answered and one.words[0] == 0]
        assert len(tried) > 10 * (time.monotonic() - begun_s - 1.0), "tried again all the time"
        assert rack.states()[-1] == "ISOLATING"
        assert commands(rack, since, "XV-101") == []
        assert commands(rack, since, "XS-101") == [0.0], "the power is off, whatever the valves do"
        wire.answer = passed_on
        rack.until(lambda: commands(rack, since, "XV-101") == [0.0], 1.0, "the command that was owed")
        assert rack.states()[-1] == "ISOLATING"


@pytest.mark.field_case("P089")
async def test_a_request_whose_write_is_refused_has_not_succeeded_before_the_field_says_so(tmp_path: Path) -> None:
    with (
        broker(tmp_path) as mosquitto,
        guarded(tmp_path, broker_port=mosquitto.port) as rack,
        between(rack, "valve_controller") as wire,
    ):
        await asyncio.to_thread(rack.start)
        await asyncio.to_thread(rack.until_state, "FLOWING", 5.0)
        async with listening(mosquitto.port, f"{BASE}/#") as listener:
            wire.answer = refused(DEVICE_FAILURE, PERMIT)
            assert (await answer(listener, a_request("dark")))["status"] == "accepted"
            await listener.wait_for(f"{BASE}/alarm/power-on-dark")
            told = [json.loads(text)["status"] for text in listener.texts(f"{BASE}/response/ann")]
            assert told == ["accepted", "started"]
            wire.answer = passed_on
            texts = await listener.wait_for(f"{BASE}/response/ann", 3)
            last = json.loads(texts[-1])
            assert (last["status"], last["proof"]["XI-101"]) == ("succeeded", False)
        for write in wire.writes:  # a command of several registers is one write, whole or not at all
            assert (write.address, len(write.words)) in {(VALVES, 5), (PERMIT, 1)}, write


@pytest.mark.field_case("P084", "P085", "P086")
async def test_a_valve_that_does_not_shut_is_told_by_its_limit_and_its_late_end_is_taken(tmp_path: Path) -> None:
    with broker(tmp_path) as mosquitto, guarded(tmp_path, broker_port=mosquitto.port) as rack:
        await asyncio.to_thread(rack.start)
        await asyncio.to_thread(rack.until_state, "FLOWING", 5.0)
        async with listening(mosquitto.port, f"{BASE}/#") as listener:
            stuck = rack.bench.fault("stuck", tag="XV-101")
            since = rack.last_seq()
            rack.bench.fault("wet", tag="LDT-101", value=1)
            await asyncio.to_thread(
                rack.until, lambda: commands(rack, since, "XV-102") == [0.0], 6.0, "the next barrier"
            )
            assert commands(rack, since, "XV-101") == [0.0]
            assert commands(rack, since, "FCV-101")[-1] == 0.0
            await listener.wait_for(f"{BASE}/alarm/valve-doubt", timeout_s=8.0)
            shown = await state(listener)
            points = json.loads((await listener.wait_for(f"{BASE}/telemetry"))[-1])["points"]
            assert (shown["state"], shown["detail"]["demand"]["XV-101"]) == ("ISOLATING", False), "commanded"
            assert points["XY-101"]["value"] == 0.0, "its coil is off"
            assert (points["ZSO-101"]["value"], points["ZSC-101"]["value"]) == (1.0, 0.0), "confirmed: open"
            before = len(rack.stamps("write", since=since))
            await asyncio.sleep(1.1)
            assert len(rack.stamps("write", since=since)) >= before + 4, "the same demand is written again and again"
            rack.bench.fault("stuck", tag="FT-102", value=3.0)  # too coarse a meter to show that nothing flows
            rack.bench.ask("fault_clear", ident=stuck)
            await asyncio.to_thread(rack.until_state, "ISOLATED", 12.0)
            await asyncio.to_thread(
                rack.until, lambda: alarmed(rack, "valve-doubt")[-1] != "UNACK", 5.0, "the doubt gone"
            )


@pytest.mark.field_case("P091")
def test_valve_writes_that_are_refused_cost_the_permit_although_other_writes_and_reads_come_through(
    tmp_path: Path,
) -> None:
    with guarded(tmp_path) as rack, between(rack, "valve_controller") as wire:
        rack.start()
        rack.until_state("FLOWING", 5.0)
        time.sleep(1.0)
        beats = [one.at_s for one in wire.writes if one.address == VALVES][-3:]
        assert beats[-1] - beats[-2] < 8.0 / 3, "three chances within the shorter expiry"
        wire.answer = refused(BUSY, VALVES)
        since, begun_s = rack.last_seq(), time.monotonic()
        rack.until(lambda: alarmed(rack, "write-late") == ["UNACK"], 4.0, "the alarm of the lost heartbeat")
        assert rack.states()[-1] == "FLOWING"
        rack.until(lambda: commands(rack, since, "XS-101") == [0.0], 6.0, "DARK")
        assert 5.0 < time.monotonic() - begun_s < 7.0
        assert [line["sif"] for line in trips(rack)] == ["SIF-8"]


@pytest.mark.field_case("P091")
def test_writes_that_are_acknowledged_and_not_done_are_seen_by_reading_them_back(tmp_path: Path) -> None:
    with guarded(tmp_path) as rack, between(rack, "valve_controller") as wire:
        rack.start()
        rack.until_state("FLOWING", 5.0)
        wire.answer = swallowed(VALVES)
        rack.bench.fault("wet", tag="LDT-101", value=1)
        rack.until(lambda: alarmed(rack, "write-late") == ["UNACK"], 5.0, "the alarm of the lost heartbeat")
        assert rack.states()[-1] == "ISOLATING"
        assert len([one for one in wire.writes if one.answered and one.words[0] == 0]) > 10, "tried again all the time"


@pytest.mark.field_case("P090")
def test_an_output_that_somebody_else_raised_is_taken_back_and_a_drain_that_is_not_shut_shuts_the_rack(
    tmp_path: Path,
) -> None:
    with guarded(tmp_path) as rack:
        rack.start()
        rack.until_state("FLOWING", 5.0)
        rack.until(lambda: len(rack.stamps("write")) >= 4, 3.0, "writes")
        since = rack.last_seq()
        raised_s = time.monotonic()
        strange_write(rack.bench.ports["racks"]["r01"]["valve_controller"], 2, 1)
        rack.until(lambda: commands(rack, since, "XV-103") == [1.0, 0.0], 2.0, "taken back")
        assert time.monotonic() - raised_s < 1.0
        assert rack.stamps("register", since=since, what="XY-103") == [], "the wiring (W4) let no coil rise meanwhile"
        rack.bench.fault("switch_broken", tag="ZSC-103")
        rack.until(lambda: commands(rack, since, "XV-101") == [0.0], 4.0, "the supply shut")
        assert [line["row"] for line in trips(rack)][:1] == ["OPEN_LOST/drain"]
        assert commands(rack, since, "XS-101") == [0.0]
        rack.until(lambda: bool(alarmed(rack, "trip-open-lost")), 1.0, "its alarm")


def strange_write(device: str, address: int, value: int) -> None:
    """Write one register as somebody who has no business here."""
    host, _, port = device.rpartition(":")
    with socket.create_connection((host, int(port))) as wire:
        pdu = bytes((6, 0, address)) + value.to_bytes(2)
        wire.sendall(b"\0\1\0\0" + (len(pdu) + 1).to_bytes(2) + b"\1" + pdu)
        assert wire.recv(64)[7] == 6

"""Field cases of leaks, trips and alarms: what the daemon does with a rack when the signs are bad, mixed or gone again."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.wire.asking import BASE, a_request, answer, facts, flowing, online, state, trips, until
from tests.wire.broker import Listener, broker, listening, needs_mosquitto
from tests.wire.guarded import ROOT, Guarded, guarded
from valvey import recording
from valvey.core.judging import ADOPTION_WINDOW_S, EPSILON_S
from valvey.replay import lines, run

pytestmark = [needs_mosquitto, pytest.mark.timeout(60)]


def commands(rack: Guarded, since: int, what: str) -> list[float]:
    return [one["value"] for one in rack.stamps("command", since=since, what=f"{what} command")]


async def asked(listener: Listener, what: str, role: str = "operator", /, **args: Any) -> dict[str, Any]:
    """Ask with the sequence number that the rack shows now; return the first answer."""
    seq = (await state(listener))["state_seq"]
    return await answer(listener, a_request(what, args=args, expect_seq=seq), role=role)


@pytest.mark.field_case("P073")
async def test_a_faulty_detector_is_an_alarm_of_its_own_neither_dry_nor_wet_and_the_other_still_acts(
    tmp_path: Path,
) -> None:
    async with flowing(tmp_path) as (rack, mosquitto), listening(mosquitto.port, f"{BASE}/#") as listener:
        rack.bench.fault("cable_break", tag="LDT-101")
        rack.bench.fault("wet", tag="LDT-101", value=1)  # its word says both: faulty, and wet
        await listener.wait_for(f"{BASE}/alarm/bad-ldt-101", timeout_s=8.0)
        point = json.loads((await listener.wait_for(f"{BASE}/telemetry"))[-1])["points"]["LDT-101"]
        assert (point["value"], point["quality"], point["reason"]) == (None, "BAD", "fault")
        assert (rack.states()[-1], rack.lines("trip")) == ("FLOWING", [])
        since = rack.last_seq()
        rack.bench.fault("wet", tag="LDT-102", value=1)  # one wet, one that contradicts it by silence: a leak
        await until(rack, lambda: commands(rack, since, "XV-101") == [0.0], 3.0, "the supply shut")
        assert [line["row"] for line in trips(rack)] == ["SIF-1/rack-detector-wet"]


@pytest.mark.field_case("P074")
async def test_small_leaks_add_up_to_a_large_one_by_the_sites_count_and_the_isolations_result_is_told(
    tmp_path: Path,
) -> None:
    policy = ROOT / "configs" / "policies" / "tiers.yaml"
    with (
        broker(tmp_path) as mosquitto,
        guarded(tmp_path, broker_port=mosquitto.port, policy=str(policy), trays=["t1", "t2"]) as rack,
    ):
        await asyncio.to_thread(rack.start)
        await asyncio.to_thread(rack.until_state, "FLOWING", 5.0)
        async with listening(mosquitto.port, f"{BASE}/#") as listener:
            one = a_request("leak_evidence", args={"tray": "t1", "wet": True, "for_s": 60.0})
            assert (await answer(listener, one, role="racky", client="racky"))["status"] == "accepted"
            await listener.wait_for(f"{BASE}/alarm/leak-evidence-one-tray-leaking")
            assert rack.states()[-1] == "FLOWING"
            other = a_request("leak_evidence", args={"tray": "t2", "wet": True, "for_s": 60.0})
            assert (await answer(listener, other, role="racky", client="racky"))["status"] == "accepted"
            await asyncio.to_thread(rack.until_state, "ISOLATED", 14.0)
            await listener.wait_for(f"{BASE}/alarm/trip-sif-1")
            assert {"SIF-1/two-trays-leaking"} <= {told["fields"]["row"] for told in facts(listener, "trip")}
            await asyncio.sleep(0.3)
            assert (await state(listener))["state"] == "ISOLATED"
            assert [told["fields"]["to"] for told in facts(listener, "transition")][-2:] == ["ISOLATING", "ISOLATED"]


@pytest.mark.field_case("P075")
async def test_a_detector_is_wetted_for_a_test_that_everybody_sees_and_that_powers_nothing_off(tmp_path: Path) -> None:
    async with flowing(tmp_path) as (rack, mosquitto), listening(mosquitto.port, f"{BASE}/#") as listener:
        since = rack.last_seq()
        assert (await asked(listener, "bypass", "engineer", name="LDT-101", for_s=2.5))["status"] == "accepted"
        begun_s = time.monotonic()
        rack.bench.fault("wet", tag="LDT-101", value=1)
        await until(rack, lambda: bool(rack.lines("would_trip")), 3.0, "what it would have done")
        told = rack.lines("would_trip")[0]
        assert (told["row"], told["tag"], told["effect"], told["bypassed"]) == (
            "SIF-1/rack-detector-wet", "LDT-101", "ISOLATE", True
        )  # fmt: skip
        await listener.wait_for(f"{BASE}/alarm/bypass-standing")
        shown = await state(listener)
        assert [one["what"] for one in shown["bypasses"]] == ["LDT-101"]
        assert rack.moves(since) == []
        await until(rack, lambda: commands(rack, since, "XV-101") == [0.0], 8.0, "the leak, once the test is over")
        assert time.monotonic() - begun_s > 2.4


@pytest.mark.field_case("P079")
async def test_after_an_emergency_stop_nothing_opens_by_itself_and_a_reset_needs_a_person_and_the_cause_gone(
    tmp_path: Path,
) -> None:
    async with flowing(tmp_path) as (rack, mosquitto):
        rack.bench.fault("emergency_stop")
        await asyncio.to_thread(rack.until_state, "ESD", 3.0)
        await asyncio.sleep(0.3)
        await asyncio.to_thread(rack.kill)
        await asyncio.to_thread(rack.start)
        await until(rack, lambda: rack.states().count("ESD") == 2, 5.0, "ESD again")
        since = rack.last_seq()
        async with listening(mosquitto.port, f"{BASE}/#") as listener:
            await online(listener)
            pressed = await asked(listener, "reset", sif=["SIF-7"])
            assert (pressed["status"], pressed["code"]) == ("refused", "cause_not_clear")
            rack.bench.ask("fault_clear", kind="emergency_stop")
            await asyncio.sleep(1.0)
            assert (await state(listener))["state"] == "ESD"
            assert (await asked(listener, "open"))["status"] == "refused"
            latched = sorted({one["sif"] for one in (await state(listener))["latches"]})
            assert (await asked(listener, "reset", sif=latched))["status"] == "accepted"
            await asyncio.to_thread(rack.until_state, "ISOLATING", 3.0)
            await asyncio.sleep(1.0)
        raised = [one for one in rack.stamps("command", since=since) if one["value"] > 0.0]
        assert raised == [], "a reset opens nothing"


@pytest.mark.field_case("P080", "P082")
def test_a_flow_of_nothing_for_a_moment_is_no_trip_and_one_that_lasts_as_long_as_the_load_allows_is(
    tmp_path: Path,
) -> None:
    with guarded(tmp_path) as rack:
        rack.start()
        rack.until_state("FLOWING", 5.0)
        time.sleep(ADOPTION_WINDOW_S + 0.3)  # holds are short after a start
        since = rack.last_seq()
        no_flow(rack)
        time.sleep(0.8)  # 132 kW allow 230 / 132 = 1.7 s
        rack.bench.ask("fault_clear", kind="stuck")
        time.sleep(1.2)
        assert (rack.lines("trip"), commands(rack, since, "XS-101")) == ([], [])
        begun_s = time.monotonic()
        no_flow(rack)
        rack.until(lambda: commands(rack, since, "XS-101") == [0.0], 4.0, "DARK")
        assert 1.5 < time.monotonic() - begun_s < 2.6
        (told,) = trips(rack)
        assert (told["row"], told["first_out"], told["tag"], told["value"]) == ("SIF-4", "SIF-4", "FT-101", 0.0)
        assert told["limit"] == pytest.approx(0.25 * 1.49 * 132.0, rel=0.1)
        assert told["held_s"] == pytest.approx(230.0 / 132.0, abs=0.05)
        assert told["sample_s"] > 0.0
        assert commands(rack, since, "XV-101") == [], "the coolant flows on: heat is no liquid"
        rack.stop()
        assert last_samples(rack, "FT-101") >= 10


def last_samples(rack: Guarded, tag: str) -> int:
    """How many samples of ``tag`` from before the only trip are on record; run again, they trip again."""
    found = list(lines(rack.folder / "memory" / "journal"))
    (head,) = [one for one in found if one["kind"] == "recording_begun"]
    parts = [one for one in found if one["kind"] == "recording"]
    again = run("it", head, parts, ended=True)
    assert (again.equal, again.trips) == (True, ["SIF-4"])
    columns, _limits, _memory = recording.read_head(head)
    frames = [frame for part in parts for frame in recording.unpack(columns, part)]
    return len({frame.readings[tag].at_s for frame in frames if frame.decided.state == "FLOWING"})


def no_flow(rack: Guarded) -> None:
    for tag in ("FT-101", "FT-102"):
        rack.bench.fault("stuck", tag=tag, value=0.0)


@pytest.mark.field_case("P081", "P083")
async def test_a_leak_found_at_the_start_acts_at_once_says_why_and_counts_no_more_once_it_is_dry_and_reset(
    tmp_path: Path,
) -> None:
    with broker(tmp_path) as mosquitto, guarded(tmp_path, broker_port=mosquitto.port) as rack:
        rack.bench.fault("wet", tag="LDT-101", value=1)
        since = rack.last_seq()
        begun_s = await asyncio.to_thread(rack.start)
        await until(rack, lambda: commands(rack, since, "XV-101") == [0.0], 3.0, "the supply shut")
        shut = rack.stamps("command", since=since, what="XV-101 command")[0]
        assert shut["mono_ns"] / 1e9 - begun_s < 1.0, "no blanking after a start masks a leak"
        told = trips(rack)[0]
        assert (told["sif"], told["tag"], told["value"]) == ("SIF-1", "LDT-101", 1.0)
        assert told["held_s"] >= 0.2 - EPSILON_S
        async with listening(mosquitto.port, f"{BASE}/#") as listener:
            await online(listener)
            assert (await asked(listener, "reset", sif=["SIF-1"]))["code"] == "cause_not_clear"
            silent = rack.bench.fault("no_reply", device="leak_panel")
            rack.bench.ask("fault_clear", kind="wet")
            await asyncio.sleep(0.4)
            assert (await asked(listener, "reset", sif=["SIF-1"]))["code"] == "cause_not_clear", "not seen is not dry"
            rack.bench.ask("fault_clear", ident=silent)
            await until(rack, lambda: rack.measured("LDT-101") == 0.0, 3.0, "dry")
            await asyncio.sleep(1.5)  # a device that was silent is asked again
            assert (await asked(listener, "reset", sif=["SIF-1"]))["status"] == "accepted"
            await asyncio.sleep(0.5)
            left = {one["sif"] for one in (await state(listener))["latches"]}
            assert left <= {"ADOPTED"}, "no old sample trips it again"

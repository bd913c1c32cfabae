"""A Valvey that is killed: the rack goes on as found, nothing that matters is forgotten, and left alone it falls dark first.

One bench, six racks; each test hurts one of them and leaves the others alone.
"""

import signal
import time
import uuid
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import pytest

from bench.bystander import Bystander
from bench.rig import RackPlan, Rig
from tests.wire.broker import needs_mosquitto
from tests.wire.rig import COMMANDS, FCV_DEAD_BAND_PCT, FEEDBACK, OUTPUTS, changes, racks_in_service, seconds, wet

pytestmark = [needs_mosquitto, pytest.mark.timeout(120)]

BIG, SHUT, LOOPING, LEFT, STOPPED, LEAKING = "r01", "r02", "r03", "r04", "r05", "r06"
RESTART_TO_WRITE_S = 6.0
"""The ladder's: from the last write of the old process to the first of the new one."""
TRIP_MEMORY_S = 0.1
PERMIT_EXPIRY_S, VALVE_EXPIRY_S, RELAY_S = 8.0, 15.0, 0.2


@dataclass
class Bench:
    """``left_since``: stamp after which the Valvey of LEFT was killed for good."""

    rig: Rig
    bus: Bystander
    left_since: int


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Generator[Bench, None, None]:
    plans = [
        RackPlan(BIG, rated_kw=230.0),
        RackPlan(SHUT, start="ISOLATED"),
        *(RackPlan(name) for name in (LOOPING, LEFT, STOPPED, LEAKING)),
    ]
    with racks_in_service(tmp_path_factory.mktemp("restart"), plans) as (rig, bus, _):
        since = rig.mark()
        rig.service.kill(LEFT, restart=False)  # nobody comes; the last test of this file looks at what became of it
        yield Bench(rig, bus, since)


def kill_and_await(bench: Bench, rack: str, life: int) -> tuple[int, dict[str, Any]]:
    """SIGKILL. Return the number of the last stamp before it, and the state that the next life tells."""
    rig, since, heard = bench.rig, bench.rig.mark(), len(bench.bus.heard)
    rig.service.kill(rack)
    assert rig.guard(rack).await_life(life, 20.0), rig.tail(rack)
    rig.await_adopted(rig.mark(), rack)
    return since, bench.bus.await_back(rack, heard)


def await_rest(rig: Rig, rack: str) -> None:
    """Wait until the flow control has brought FCV-101 where it wants it: what moves after that would be the restart's."""
    end_s, at_pct = time.monotonic() + 45.0, float("nan")
    while (now_pct := rig.true(rack)["valves_pct"]["FCV-101"]) != at_pct:
        assert time.monotonic() < end_s, f"FCV-101 still moves, at {now_pct} %"
        at_pct = now_pct
        time.sleep(3.0)


def test_a_killed_valvey_of_a_rack_at_230_kw_comes_back_and_nothing_moves(bench: Bench) -> None:
    rig = bench.rig
    await_rest(rig, BIG)
    before = rig.true(BIG)
    assert before["busbar_kw"] == pytest.approx(230.0, rel=0.02)
    since, state = kill_and_await(bench, BIG, life=2)
    time.sleep(0.5)
    stamps, after = rig.stamps(since, BIG), rig.true(BIG)
    assert changes(stamps, (*COMMANDS, *OUTPUTS, *FEEDBACK)) == []
    # for three seconds it only listens, and sends FCV-101 where it was sent before: a valve at rest moves by nothing at all
    moved_pct = after["valves_pct"]["FCV-101"] - before["valves_pct"]["FCV-101"]
    assert abs(moved_pct) <= FCV_DEAD_BAND_PCT
    assert after["busbar_kw"] == pytest.approx(230.0, rel=0.02)
    assert (state["state"], state["latches"]) == ("FLOWING", [])
    first = rig.guard(BIG).lives[1].started_s
    writes = [s["mono_ns"] / 1e9 for s in rig.stamps(since - 40, BIG, "write", what="0")]
    gap_s = min(at_s for at_s in writes if at_s > first) - max(at_s for at_s in writes if at_s < first)
    print(f"last write -> first write of the next process: {gap_s:.2f} s")
    assert gap_s <= RESTART_TO_WRITE_S


def test_locks_bypasses_and_the_ids_of_requests_survive_a_kill(bench: Bench) -> None:
    bus = bench.bus
    assert bus.request(SHUT, "lock", why="hands in the rack", args={"owner": "anna"})["status"] == "accepted"
    bus.wait(lambda: bus.state(SHUT)["locks"], 3.0, "no lock in the state")
    ident = str(uuid.uuid4())
    first = ask_for_bypass(bus, ident)
    assert first["status"] == "accepted"
    kill_and_await(bench, SHUT, life=2)
    state = bus.await_state(SHUT, "ISOLATED")
    assert [lock["owner"] for lock in state["locks"]] == ["anna"]
    assert [bypass["what"] for bypass in state["bypasses"]] == ["SIF-11"]
    opened = bus.request(SHUT, "open")
    assert (opened["status"], opened["code"]) == ("refused", "no_lock")
    again = ask_for_bypass(bus, ident)
    assert (again["status"], again["code"]) == (first["status"], first["code"])
    (bypass,) = bus.state(SHUT)["bypasses"]
    assert bypass["until_wall_s"] == pytest.approx(state["bypasses"][0]["until_wall_s"], abs=0.01), "no second act"


def ask_for_bypass(bus: Bystander, ident: str) -> dict[str, Any]:
    args = {"name": "SIF-11", "for_s": 600.0}
    return bus.request(SHUT, "bypass", role="engineer", why="a test", request_id=ident, args=args)


def test_a_trip_is_in_the_memory_100_ms_after_its_write(bench: Bench) -> None:
    rig, bus = bench.rig, bench.bus
    since, heard = wet(rig, LEAKING), len(bus.heard)
    trip = rig.await_stamp(since, LEAKING, "XV-101 command", 0.0)
    time.sleep(max(0.0, trip["mono_ns"] / 1e9 + TRIP_MEMORY_S - time.monotonic()))
    rig.service.kill(LEAKING)
    rig.ask("fault_clear", kind="wet", rack=LEAKING)  # only the memory can know of it now
    assert rig.guard(LEAKING).await_life(2, 20.0), rig.tail(LEAKING)
    state = bus.await_back(LEAKING, heard)
    assert state["latches"][0]["sif"] == "SIF-1", state
    bus.wait(lambda: bus.state(LEAKING)["state"] in {"ISOLATING", "ISOLATED"}, 5.0, "not shut")
    rose = [change for change in changes(rig.stamps(trip["seq"], LEAKING), (*COMMANDS, *OUTPUTS)) if change[1]]
    assert rose == []


def test_a_stop_leaves_the_outputs_as_found_and_the_next_start_goes_on(bench: Bench) -> None:
    rig = bench.rig
    since = rig.mark()
    rig.service.kill(STOPPED, signal.SIGTERM, restart=False)
    assert rig.guard(STOPPED).await_end(5.0), rig.tail(STOPPED)
    assert rig.guard(STOPPED).lives[0].code == 0
    time.sleep(1.0)
    assert changes(rig.stamps(since, STOPPED), (*COMMANDS, *OUTPUTS, *FEEDBACK)) == []
    rig.start(STOPPED)
    bench.bus.await_state(STOPPED, "FLOWING")
    assert changes(rig.stamps(since, STOPPED), (*COMMANDS, *OUTPUTS, *FEEDBACK)) == []


def test_the_third_start_in_a_row_is_dark_with_coolant_flowing(bench: Bench) -> None:
    rig, bus = bench.rig, bench.bus
    since, _ = kill_and_await(bench, LOOPING, life=2)
    assert changes(rig.stamps(since, LOOPING), (*COMMANDS, *OUTPUTS)) == []
    since, _ = kill_and_await(bench, LOOPING, life=3)
    rig.await_stamp(since, LOOPING, "XI-101", 0.0)
    assert changes(rig.stamps(since, LOOPING), COMMANDS) == [("XS-101 command", 0.0)]
    state = bus.await_state(LOOPING, "COOLDOWN")
    assert [latch["sif"] for latch in state["latches"]] == ["RESTART_LOOP", "ADOPTED"]
    assert rig.true(LOOPING)["flow_supply_lpm"] > 100.0


def test_without_a_restart_the_permit_lapses_at_8_s_and_the_valves_at_15_s(bench: Bench) -> None:
    rig, since = bench.rig, bench.left_since
    last = rig.stamps(0, LEFT, "write", what="0")[-1]
    permit = rig.stamps(0, LEFT, "write", what="8")[-1]
    dark = rig.await_stamp(since, LEFT, "XSY-101", 0.0, within_s=PERMIT_EXPIRY_S + 4.0)
    assert seconds(permit, dark) == pytest.approx(PERMIT_EXPIRY_S, abs=RELAY_S)
    off = rig.await_stamp(since, LEFT, "XI-101", 0.0, within_s=2.0)
    assert seconds(dark, off) <= RELAY_S
    shut = [rig.await_stamp(since, LEFT, tag, 0.0, within_s=VALVE_EXPIRY_S + 4.0) for tag in ("XY-101", "XY-102")]
    for stamp in shut:
        assert seconds(last, stamp) == pytest.approx(VALVE_EXPIRY_S, abs=RELAY_S)
    assert dark["seq"] < off["seq"] < min(stamp["seq"] for stamp in shut)
    assert changes(rig.stamps(since, LEFT), COMMANDS) == [], "nobody commanded it: the devices did it by themselves"

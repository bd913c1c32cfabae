"""`valvey loop run` as a process, on a real broker and the simulator's CDU: leases, death and return, two of a kind, set-points."""

import asyncio
import json
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from fieldkit.envelope_parts import GrantHeld
from firmware_sim.bench import Bench
from firmware_sim.bench_config import demo_bench
from firmware_sim.plant_config import CduMode
from tests.wire.broker import Listener, listening, needs_mosquitto
from tests.wire.loops import BASE, ROOT, SPEED, Rack, Ring, facts, last, ring, until
from valvey.core.leasing import Act
from valvey.loop.replay import run as run_again
from valvey.replay import lines, replay

pytestmark = [needs_mosquitto, pytest.mark.timeout(180)]
FLOWS = {"r01": 197.0, "r02": 246.0, "r03": 294.0, "r04": 342.0}
ALL = "racky/#"


async def flowing(listener: Listener, **flows: float) -> None:
    for name, usual in FLOWS.items():
        flow = flows.get(name, usual)
        await Rack(listener, name).tell_points(FT_101=flow, FT_102=flow, ZT_101=70.0, JT_101=100.0, LDT_101=0.0)


async def asked(listener: Listener, role: str, request: str, why: str | None = None, **args: Any) -> dict[str, Any]:
    """Ask the coordinator for something and return the answer."""
    request_id = str(uuid.uuid4())
    body = {"v": 1, "id": request_id, "request": request, "args": args}
    if why is not None:
        body |= {"why": why, "expect_seq": last(listener, "state")["state_seq"]}
    await listener.client.publish(f"{BASE}/request/{role}/ann", json.dumps(body), 1)

    def answers() -> list[dict[str, Any]]:
        told = [json.loads(text) for text in listener.texts(f"{BASE}/response/ann")]
        return [one for one in told if one["id"] == request_id]

    await until(lambda: answers() != [])
    return answers()[0]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Generator[Ring]:
    """One coordinator whose CDU is away, for what needs none."""
    with ring(tmp_path_factory.mktemp("desk")) as made:
        asyncio.run(made.coordinator().start())
        yield made


async def test_a_lease_is_granted_renewed_and_given_back(desk: Ring) -> None:
    async with listening(desk.mosquitto.port, ALL) as listener:
        rack, other = Rack(listener, "r03"), Rack(listener, "r04")
        granted = await rack.until_granted("isolate")
        assert (granted.ttl_s, granted.epoch) == (30.0, 1)
        assert "r03" in (await other.say(Act.ASK, "isolate")).model_dump_json()
        assert (await rack.say(Act.RENEW, "isolate", granted.id, granted.epoch)).granted
        await until(lambda: last(listener, "state").get("grants", []) != [])
        assert last(listener, "state")["detail"]["leases"]["r03"]["work"] == "isolate"
        await rack.say(Act.GIVE_BACK, "isolate", granted.id, granted.epoch)
        taken = await other.say(Act.ASK, "isolate")
        assert taken.granted
        await other.say(Act.GIVE_BACK, "isolate", taken.id)
        assert {"lease_granted", "lease_given_back", "lease_refused"} <= set(facts(listener))


async def test_a_lease_that_is_not_renewed_comes_free_by_itself(desk: Ring) -> None:
    async with listening(desk.mosquitto.port, ALL) as listener:
        await Rack(listener, "r03").until_granted("isolate")
        begun_s = time.monotonic()
        taken = await Rack(listener, "r04").until_granted("isolate")
        assert time.monotonic() - begun_s > 35.0 / SPEED - 0.5
        assert "lease_lapsed" in facts(listener)
        await Rack(listener, "r04").say(Act.GIVE_BACK, "isolate", taken.id)


async def test_without_its_cdu_nothing_is_opened_and_closing_work_goes_on(desk: Ring) -> None:
    async with listening(desk.mosquitto.port, ALL) as listener:
        rack = Rack(listener, "r02")
        closing = await rack.until_granted("isolate")
        await rack.say(Act.GIVE_BACK, "isolate", closing.id)
        refused = await rack.say(Act.ASK, "open")
        assert not refused.granted
        assert refused.would_allow
        plan = await asked(listener, "observer", "plan", rack="r03", work="isolate")
        assert plan["status"] == "succeeded"
        assert plan["proof"]["neighbours_pct"] is None
        assert len(plan["proof"]["missing"]) == 2
        await until(lambda: last(listener, "alarm/cdu-unknown").get("active") is True)


def planned(desk: Ring, work: str, *more: str) -> tuple[int, str, str]:
    """Ask for a plan on the command line; return exit code, output, complaints."""
    where = ["--broker", f"127.0.0.1:{desk.mosquitto.port}", "--site", "bench", "--rack", "r03", "--client", "ann"]
    command = [sys.executable, "-m", "valvey", "request", work, *where, "--plan", *more]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60.0, check=False)
    return done.returncode, done.stdout, done.stderr


async def test_a_plan_is_asked_of_the_coordinator_by_the_command_line(desk: Ring) -> None:
    async with listening(desk.mosquitto.port, ALL) as listener:
        held = await Rack(listener, "r03").until_granted("isolate")
        code, out, _ = await asyncio.to_thread(planned, desk, "isolate", "-o", "json")
        plan = json.loads(out)
        assert (code, plan["loop"], plan["rack"], plan["work"], plan["simulated"]) == (
            0,
            "cdu1",
            "r03",
            "isolate",
            True,
        )
        assert plan["refused"] is None
        assert plan["missing"]
        code, out, _ = await asyncio.to_thread(planned, desk, "fill")
        assert code == 3
        assert "would be        refused:" in out
        assert "volume          45 L" in out
        code, _, told = await asyncio.to_thread(planned, desk, "dark")
        assert (code, "isolate, drain, fill" in told) == (2, True)
        code, _, told = await asyncio.to_thread(planned, desk, "isolate", "--loop", "cdu9")
        assert (code, "no coordinator" in told) == (5, True)
        await Rack(listener, "r03").say(Act.GIVE_BACK, "isolate", held.id)


async def test_two_wet_racks_are_a_loop_event_that_a_person_resets(desk: Ring) -> None:
    async with listening(desk.mosquitto.port, ALL) as listener:

        async def wet(value: float) -> None:
            for name in ("r01", "r02"):
                await Rack(listener, name).tell_points(LDT_101=value)
            await asyncio.sleep(0.05)

        until_s = time.monotonic() + 30.0
        while last(listener, "state").get("latches", []) == [] and time.monotonic() < until_s:
            await wet(1.0)
        assert [one["sif"] for one in last(listener, "state")["latches"]] == ["racks-leak"]
        await until(lambda: last(listener, "alarm/racks-leak").get("priority") == "critical")
        for _ in range(5):
            await wet(0.0)
        assert (await asked(listener, "observer", "reset", "dry", event="racks-leak"))["code"] == "role"
        assert (await asked(listener, "operator", "reset", "dry", event="racks-leak"))["status"] == "succeeded"
        await until(lambda: last(listener, "state")["latches"] == [])


async def test_what_is_no_request_and_no_ask_is_refused_or_dropped(desk: Ring) -> None:
    async with listening(desk.mosquitto.port, ALL) as listener:
        for payload in (b"", b"{", b"\xff", b'{"v":1}', b"[" * 500):
            await listener.client.publish(f"{BASE}/lease/r03", payload, 1)
            await listener.client.publish(f"{BASE}/request/operator/bob", payload, 1)
            await listener.client.publish("racky/v1/bench/r03/valvey/state", payload, 1)
            await listener.client.publish("racky/v1/bench/r03/valvey/telemetry", payload, 0)
        texts = await listener.wait_for(f"{BASE}/response/bob", 5, 20.0)
        assert {json.loads(text)["status"] for text in texts} == {"refused"}
        assert (await asked(listener, "operator", "dance"))["code"] == "unknown"
        assert listener.texts(f"{BASE}/grant/r03") == []


async def test_a_killed_coordinator_comes_back_with_a_higher_epoch_and_adopts_what_is_presented(tmp_path: Path) -> None:
    with ring(tmp_path) as made:
        async with listening(made.mosquitto.port, ALL) as listener:
            one = made.coordinator()
            await one.start()
            rack = Rack(listener, "r03")
            assert "just started" in str((await rack.say(Act.ASK, "isolate")).reason)
            granted = await rack.until_granted("isolate")
            await one.stop(signal.SIGKILL)
            await until(lambda: last(listener, "availability").get("status") == "offline")
            await one.start()
            again = await rack.say(Act.RENEW, "isolate", granted.id, granted.epoch)
            assert (again.granted, again.id) == (True, granted.id)
            assert again.epoch > granted.epoch
            assert not (await Rack(listener, "r04").say(Act.ASK, "isolate")).granted


async def test_a_coordinator_that_lost_its_disk_learns_the_epoch_from_the_racks(tmp_path: Path) -> None:
    with ring(tmp_path) as made:
        async with listening(made.mosquitto.port, ALL) as listener:
            rack = Rack(listener, "r02")
            await rack.tell_state("FILLING", (GrantHeld(id="cdu1-41-7", epoch=41, work="fill", left_s=20.0),))
            await made.coordinator().start()
            await until(lambda: last(listener, "state").get("detail", {}).get("epoch") == 42)
            adopted = await rack.say(Act.RENEW, "fill", "cdu1-41-7", 41)
            assert (adopted.granted, adopted.epoch) == (True, 42)


async def test_a_second_coordinator_with_the_same_files_is_refused_by_the_lock(tmp_path: Path) -> None:
    with ring(tmp_path) as made:
        one = made.coordinator()
        await one.start()
        first = one.process
        second = one.spawn()
        assert await asyncio.to_thread(second.wait, 60.0) == 3
        assert "holds it" in one.log.read_text(encoding="utf-8")
        one.process = first


async def test_a_second_coordinator_elsewhere_is_seen_on_the_bus_by_both_and_neither_grants(tmp_path: Path) -> None:
    with ring(tmp_path) as made:
        async with listening(made.mosquitto.port, ALL) as listener:
            one, two = made.coordinator("one"), made.coordinator("two")
            await one.start()
            rack = Rack(listener, "r03")
            held = await Rack(listener, "r04").until_granted("isolate")
            await Rack(listener, "r04").say(Act.GIVE_BACK, "isolate", held.id)
            await two.start()
            await until(lambda: last(listener, "alarm/two-coordinators").get("active") is True)
            for _ in range(20):
                assert not (await rack.say(Act.ASK, "isolate")).granted
                await asyncio.sleep(0.2)  # past the time in which the second grants nothing anyway
            assert last(listener, "state")["state"] == "QUARREL"
            assert await two.stop() == 0
            assert (await rack.until_granted("isolate")).granted
            await until(lambda: last(listener, "availability").get("status") == "online")  # the one left says so again


async def test_the_set_point_follows_an_isolation_and_a_stop_leaves_it_there(tmp_path: Path) -> None:
    async with Bench(demo_bench(4, speed=SPEED, mode=CduMode.CONSTANT_FLOW, attended_s=1e9)) as bench:
        host, port = bench.address("cdu")
        cdu = bench.bank.plant.cdu
        before = cdu.flow_setpoint_lpm
        with ring(tmp_path, f"{host}:{port}") as made:
            async with listening(made.mosquitto.port, ALL) as listener:
                one = made.coordinator()
                await one.start()
                for name in FLOWS:
                    await Rack(listener, name).tell_state("FLOWING")
                for _ in range(10):
                    await flowing(listener)
                    await asyncio.sleep(0.1)
                assert cdu.flow_setpoint_lpm == pytest.approx(before)
                await Rack(listener, "r03").tell_state("COOLDOWN", isolate_wanted=True)
                for n in range(200):
                    await flowing(listener, r03=max(0.0, 294.0 - 10.0 * n))
                    await asyncio.sleep(0.1)
                    if cdu.flow_setpoint_lpm < before - 150.0:
                        break
                held = cdu.flow_setpoint_lpm
                assert held < before - 150.0
                assert cdu.mode is CduMode.CONSTANT_FLOW
                assert await one.stop() == 0
                assert cdu.flow_setpoint_lpm == pytest.approx(held, rel=0.1)
                await until(lambda: last(listener, "availability")["status"] == "offline")


async def test_the_pumps_stop_once_every_rack_is_proven_dark_and_the_record_says_who_wanted_it(tmp_path: Path) -> None:
    async with Bench(demo_bench(4, speed=SPEED, attended_s=1e9)) as bench:
        host, port = bench.address("cdu")
        with ring(tmp_path, f"{host}:{port}") as made:
            async with listening(made.mosquitto.port, ALL) as listener:
                one = made.coordinator(policy={"pump_stop": "when_all_dark"})
                await one.start()

                async def told(lit: set[str]) -> None:
                    for name in FLOWS:
                        kw = 100.0 if name in lit else 0.0
                        await Rack(listener, name).tell_points(
                            JT_101=kw, ET_101=kw, XI_101=float(name in lit), LDT_101=0.0
                        )

                for name in FLOWS:
                    await Rack(listener, name).tell_state("FLOWING")
                    await Rack(listener, name).tell_online()
                await told(set(FLOWS))
                await until(lambda: last(listener, "alarm/rack-unseen") in ({}, None))
                begun = asyncio.create_task(asked(listener, "safety", "stop_pumps", "the header has burst"))
                while not begun.done():
                    await told(set(FLOWS))
                    await asyncio.sleep(0.05)
                assert begun.result()["status"] == "accepted"
                where = "racky/v1/bench/r03/valvey/request/coordinator/loop-cdu1"
                for _ in range(20):
                    await told({"r03"})
                    await asyncio.sleep(0.05)
                (text, *_) = listener.texts(where)
                assert (json.loads(text)["request"], json.loads(text)["args"]) == ("dark", {"trip": True})
                assert bench.bank.cdu.running
                for name in FLOWS:
                    await Rack(listener, name).tell_state("COOLDOWN")
                for _ in range(200):
                    await told(set())
                    await asyncio.sleep(0.05)
                    if not bench.bank.cdu.running:
                        break
                assert not bench.bank.cdu.running
                await until(lambda: last(listener, "response/ann").get("status") == "succeeded")
                await until(lambda: [one["sif"] for one in last(listener, "state")["latches"]] == ["pumps-stopped"])
                assert await one.stop() == 0
        found = list(lines(one.folder / "memory" / "journal"))
        requests = [(line["name"], line["role"], line["why"]) for line in found if line["kind"] == "request"]
        assert requests == [("stop_pumps", "safety", "the header has burst")]
        assert [line["value"] for line in found if line["kind"] == "written" and line["point"] == "pumps_run"] == [0.0]
        again = replay(one.folder / "memory" / "journal", {"loop": run_again})
        assert [one.equal for one in again] == [True], [one.document() for one in again]

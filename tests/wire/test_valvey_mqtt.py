"""The desk over a real Mosquitto: what is kept, told, asked and refused; and a broker that dies."""

import asyncio
import json
import signal
import socket
import time
from pathlib import Path
from typing import Any

import aiomqtt
import pytest

from fieldkit.envelope import PAYLOADS
from fieldkit.topics import parse_topic
from tests.wire.asking import BASE, a_request, answer, facts, flowing, state
from tests.wire.broker import broker, listening, needs_mosquitto
from tests.wire.guarded import SITE, Guarded, guarded, payload

pytestmark = [needs_mosquitto, pytest.mark.timeout(60)]


async def test_every_message_of_a_trip_fits_its_schema_and_says_that_it_is_simulated(tmp_path: Path) -> None:
    async with flowing(tmp_path) as (rack, mosquitto), listening(mosquitto.port, f"{BASE}/#") as listener:
        await answer(listener, a_request("ack", args={"alarm": "none"}))
        rack.bench.fault("wet", tag="LDT-101", value=1)
        await listener.wait_for(f"{BASE}/alarm/trip-sif-1")
        await listener.wait_for(f"{BASE}/telemetry", 3)
        await listener.wait_for(f"{BASE}/canary", timeout_s=11.0)
        kinds = set()
        for message in listener.heard:
            topic = parse_topic(str(message.topic))
            assert topic is not None
            kinds.add(str(topic.kind))
            if message.payload:
                PAYLOADS[topic.kind].model_validate_json(bytes(message.payload), strict=True)
                assert topic.kind == "request" or payload(message)["simulated"] is True
        assert kinds >= {"availability", "state", "telemetry", "meta", "event", "alarm", "response", "canary"}


async def test_a_newcomer_finds_state_meta_availability_and_alarms_kept(tmp_path: Path) -> None:
    async with flowing(tmp_path) as (rack, mosquitto):
        rack.bench.fault("wet", tag="LDT-101", value=1)
        await asyncio.to_thread(rack.until_state, "ISOLATING", 5.0)
        await asyncio.sleep(0.3)
        async with listening(mosquitto.port, f"{BASE}/#") as listener:
            await listener.wait_for(f"{BASE}/alarm/trip-sif-1")
            await listener.wait_for(f"{BASE}/state")
            kept = {str(one.topic).removeprefix(f"{BASE}/") for one in listener.heard if one.retain}
            assert kept >= {"state", "meta", "availability", "alarm/trip-sif-1"}
            now = await state(listener)
            assert (now["state"], now["latches"][0]["sif"], now["inventory"]) == ("ISOLATING", "SIF-1", "unknown")


async def test_an_accepted_request_is_answered_quickly_and_ends_with_proof(tmp_path: Path) -> None:
    async with flowing(tmp_path) as (_rack, mosquitto), listening(mosquitto.port, f"{BASE}/#") as listener:
        begun_s = time.monotonic()
        first = await answer(listener, a_request("dark"))
        took_s = time.monotonic() - begun_s
        assert first["status"] == "accepted"
        assert took_s < 0.3
        texts = await listener.wait_for(f"{BASE}/response/ann", 3)
        statuses = [json.loads(text)["status"] for text in texts]
        assert statuses == ["accepted", "started", "succeeded"]
        assert not json.loads(texts[-1])["proof"]["XI-101"]
        again = await answer(listener, a_request("open", expect_seq=0))
        assert (again["status"], again["code"]) == ("refused", "expect_seq")
        assert str((await state(listener))["state_seq"]) in again["would_allow"]


async def test_the_same_id_gets_the_same_answer_and_no_second_act(tmp_path: Path) -> None:
    async with flowing(tmp_path) as (_rack, mosquitto), listening(mosquitto.port, f"{BASE}/#") as listener:
        seq = (await state(listener))["state_seq"]
        asked = a_request("set_point", args={"fcv_pct": 70.0}, expect_seq=seq)
        assert (await answer(listener, asked))["status"] == "accepted"
        await listener.wait_for(f"{BASE}/response/ann", 2)
        assert (await answer(listener, asked))["status"] == "accepted"
        await asyncio.sleep(0.2)
        acts = [
            one for one in listener.heard if str(one.topic) == f"{BASE}/event" and payload(one)["fact"] == "set_point"
        ]
        assert len(acts) == 1


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", "not_json"),
        (b'{"v":1,"v":1,"id":"6e6b7b7e-8f3c-4d56-9a3b-2f0a0d8e5c11","request":"dark"}', "duplicate_key"),
        (b'{"v":1,"id":"6e6b7b7e-8f3c-4d56-9a3b-2f0a0d8e5c11","request":"dark","now":true}', "unknown_field"),
        (b'{"v":1,"id":"6e6b7b7e-8f3c-4d56-9a3b-2f0a0d8e5c11","request":"dark","why":"' + b"x" * 5000 + b'"}', "too_long"),
        (b"\xff\xfe", "not_utf8"),
    ],
)  # fmt: skip
async def test_what_is_no_request_is_refused_with_an_answer_and_never_acted_on(
    desk: tuple[Guarded, int], body: bytes, code: str
) -> None:
    async with listening(desk[1], f"{BASE}/#") as listener:
        refusal = await answer(listener, body)
        assert (refusal["status"], refusal["code"]) == ("refused", code)
        assert (await state(listener))["state"] == "FLOWING"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One flowing rack for the requests that must not move it."""
    folder = tmp_path_factory.mktemp("desk")
    with broker(folder) as mosquitto, guarded(folder, broker_port=mosquitto.port) as rack:
        rack.start()
        rack.until_state("FLOWING", 5.0)
        yield rack, mosquitto.port


async def test_a_retained_request_is_refused_with_an_answer(desk: tuple[Guarded, int]) -> None:
    rack, port = desk
    async with listening(port, f"{BASE}/#") as listener:
        # A live subscriber sees it without the flag; it is retained for whoever subscribes after it.
        await answer(listener, a_request("ack", args={"alarm": "none"}), client="bob", retain=True)
    await asyncio.to_thread(_bounce_the_session, port)
    async with listening(port, f"{BASE}/#") as listener:
        texts = await listener.wait_for(f"{BASE}/availability")
        assert texts
    await asyncio.sleep(0.1)
    record = (rack.folder / "memory" / "journal").glob("*.jsonl")
    lines = [json.loads(line) for path in record for line in path.read_text(encoding="utf-8").splitlines()]
    refused = [one for one in lines if one["kind"] == "refused_at_the_door" and one["code"] == "retained"]
    assert refused
    async with listening(port) as listener:
        await listener.client.publish(f"{BASE}/request/operator/bob", b"", 1, True)  # take it away again


def _bounce_the_session(port: int) -> None:
    """Take the daemon's client id over for a moment: its session ends, and it subscribes again."""

    async def bounce() -> None:
        async with aiomqtt.Client("127.0.0.1", port, identifier="valvey-r01"):
            await asyncio.sleep(0.1)

    asyncio.run(bounce())
    time.sleep(2.0)


async def test_an_expired_request_is_refused(desk: tuple[Guarded, int]) -> None:
    async with listening(desk[1], f"{BASE}/#") as listener:
        seq = (await state(listener))["state_seq"]
        asked = a_request("set_point", args={"fcv_pct": 70.0}, expect_seq=seq, expires_at=time.time() - 1.0)
        assert (await answer(listener, asked))["code"] == "expired"


async def test_an_observer_may_ask_for_nothing(desk: tuple[Guarded, int]) -> None:
    async with listening(desk[1], f"{BASE}/#") as listener:
        assert (await answer(listener, a_request("emergency_stop"), role="observer"))["code"] == "role"


async def test_a_killed_broker_changes_nothing_of_the_protection_and_no_event_is_lost(tmp_path: Path) -> None:
    async with flowing(tmp_path) as (rack, mosquitto):
        async with listening(mosquitto.port, f"{BASE}/#") as listener:
            await answer(listener, a_request("ack", args={"alarm": "none"}))
            told = [payload(one)["seq"] for one in listener.heard if str(one.topic) == f"{BASE}/event"]
        mosquitto.kill(signal.SIGKILL)
        since = rack.last_seq()
        rack.bench.fault("wet", tag="LDT-101", value=1)
        took_ms = await asyncio.to_thread(rack.latency_ms, "LDT-101", "XV-101 command", since)
        assert took_ms - 500.0 <= 150.0
        await asyncio.to_thread(rack.until_state, "ISOLATED", 14.0)
        mosquitto.start()
        async with listening(mosquitto.port, f"{BASE}/#") as listener:
            while not facts(listener, "transition"):
                await listener.wait_for(f"{BASE}/event", timeout_s=12.0)
                await asyncio.sleep(0.2)
            events = [payload(one) for one in listener.heard if str(one.topic) == f"{BASE}/event"]
            assert [one["seq"] for one in events] == list(range(told[-1] + 1, told[-1] + 1 + len(events)))
            assert [one["fields"]["to"] for one in events if one["fact"] == "transition"] == ["ISOLATING", "ISOLATED"]
            await listener.wait_for(f"{BASE}/telemetry")
            assert (await state(listener))["state"] == "ISOLATED"


async def test_a_hung_broker_makes_neither_a_leak_nor_a_stop_wait(tmp_path: Path) -> None:
    async with flowing(tmp_path) as (rack, mosquitto):
        mosquitto.freeze()
        await asyncio.sleep(0.5)
        since = rack.last_seq()
        rack.bench.fault("wet", tag="LDT-101", value=1)
        took_ms = await asyncio.to_thread(rack.latency_ms, "LDT-101", "XV-101 command", since)
        assert took_ms - 500.0 <= 150.0
        code, took_s = await asyncio.to_thread(rack.stop)
        assert (code, took_s < 5.0) == (0, True)


async def test_a_stop_says_offline_and_a_kill_leaves_the_will(tmp_path: Path) -> None:
    async with flowing(tmp_path) as (rack, mosquitto), listening(mosquitto.port, f"{BASE}/availability") as listener:
        assert json.loads((await listener.wait_for(f"{BASE}/availability"))[-1])["status"] == "online"
        await asyncio.to_thread(rack.kill)
        assert json.loads((await listener.wait_for(f"{BASE}/availability", 2))[-1])["status"] == "offline"
        await asyncio.to_thread(rack.start)
        assert json.loads((await listener.wait_for(f"{BASE}/availability", 3))[-1])["status"] == "online"
        await asyncio.to_thread(rack.stop)
        assert json.loads((await listener.wait_for(f"{BASE}/availability", 4))[-1])["status"] == "offline"


def test_the_command_line_shows_a_state_as_one_document(desk: tuple[Guarded, int]) -> None:
    shown = desk[0].valvey("status", str(desk[0].config), "-o", "json", timeout_s=40.0)
    assert (shown.returncode, json.loads(shown.stdout)["state"]["state"]) == (0, "FLOWING")


def test_the_command_line_ends_with_3_when_it_is_refused_and_says_why(desk: tuple[Guarded, int]) -> None:
    refused = desk[0].valvey("request", "open", str(desk[0].config), "--why", "x", "-o", "json", timeout_s=40.0)
    assert (refused.returncode, json.loads(refused.stdout)["responses"][0]["code"]) == (3, "state")


def test_the_command_line_waits_for_the_end_of_a_request(desk: tuple[Guarded, int]) -> None:
    point = ("request", "set_point", str(desk[0].config), "--arg", "fcv_pct=70", "--why", "x", "--wait")
    assert desk[0].valvey(*point, timeout_s=40.0).returncode == 0


def test_the_command_line_ends_with_5_where_there_is_no_broker(desk: tuple[Guarded, int]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    gone = ("status", "--broker", f"127.0.0.1:{port}", "--site", SITE, "--rack", "r01")
    assert desk[0].valvey(*gone, timeout_s=40.0).returncode == 5

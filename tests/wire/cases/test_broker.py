"""Field cases of the broker: requests that come too late, too often or wrong, and what a broker keeps of whom."""

import asyncio
import json
import re
import shutil
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.wire.asking import BASE, a_request, answer, facts, flowing, state, until
from tests.wire.broker import Broker, Listener, broker, listening, needs_mosquitto
from tests.wire.guarded import Guarded, guarded, payload

pytestmark = [needs_mosquitto, pytest.mark.timeout(60)]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[Guarded, Broker], None, None]:
    """One rack in service for what must not move it; its broker tells of its clients every second."""
    folder = tmp_path_factory.mktemp("desk")
    with (
        broker(folder, "sys_interval 1", "max_queued_messages 20000") as mosquitto,
        guarded(folder, broker_port=mosquitto.port) as rack,
    ):
        rack.start()
        rack.until_state("FLOWING", 5.0)
        yield rack, mosquitto


@asynccontextmanager
async def heard(mosquitto: Broker, *more: str) -> AsyncGenerator[Listener]:
    async with listening(mosquitto.port, f"{BASE}/#", *more) as listener:
        await listener.wait_for(f"{BASE}/state")
        yield listener


@pytest.mark.skipif(shutil.which("mosquitto_pub") is None, reason="mosquitto-clients is not installed here")
@pytest.mark.field_case("P052")
async def test_a_flood_of_requests_holds_up_neither_the_scan_nor_the_session(desk: tuple[Guarded, Broker]) -> None:
    rack, mosquitto = desk
    topics = f"{BASE}/availability", f"{BASE}/response/+"
    async with listening(mosquitto.port, *topics) as listener:
        await listener.wait_for(topics[0])
        since, before = len(rack.manager.told), len(listener.texts(f"{BASE}/response/mad"))
        flood = json.dumps(a_request("ack", args={"alarm": "none"})) + "\n"
        where = ["-p", str(mosquitto.port), "-t", f"{BASE}/request/operator/mad"]
        mad = await asyncio.create_subprocess_exec("mosquitto_pub", *where, "-l", stdin=asyncio.subprocess.PIPE)
        await mad.communicate(1000 * flood.encode())  # at once: many times of what one scan looks into
        stop = await answer(listener, a_request("cancel"))
        assert stop["request"] == "cancel", "what makes safer is heard through it"

        def codes() -> set[str]:
            return {json.loads(text)["code"] for text in listener.texts(f"{BASE}/response/mad")[before:]}

        await until(rack, lambda: codes() != set(), 5.0, "the flood is answered")
        assert codes() <= {"unknown", "busy"}, "busy where more than one scan takes came between two of them"
        said = [json.loads(text)["status"] for text in listener.texts(f"{BASE}/availability")]
        assert set(said) == {"online"}
        await until(rack, lambda: len(rack.manager.told) >= since + 4, 3.0, "the watchdog fed")
    lag = [re.search(r"late ([0-9.]+) ms, missed (\d+)", text) for _, text in rack.manager.told[since:]]
    late_ms = [float(one[1]) for one in lag if one is not None]
    assert late_ms, "how late the loop is stands in the status"
    assert max(late_ms) < 200.0
    assert rack.lines("trip") == []


@pytest.mark.field_case("P078")
async def test_a_contact_that_chatters_is_one_alarm_told_once(desk: tuple[Guarded, Broker]) -> None:
    rack, mosquitto = desk
    topic, times = f"{BASE}/alarm/key-locked", 8
    async with heard(mosquitto) as listener:
        now_s = float(rack.bench.ask("snapshot")["t_s"])
        for number in range(times):
            rack.bench.fault("key_locked", at_s=now_s + 0.5 + 0.3 * number, for_s=0.15)
        await changes(listener, topic, "UNACK")
        async with listening(mosquitto.port, topic) as newcomer:
            assert json.loads((await newcomer.wait_for(topic))[0])["active"], (
                "it stands for whoever asks, told again or not"
            )
        await changes(listener, topic, "RTN_UNACK")
        told = [one for one in listener.heard if str(one.topic) == topic and not one.retain]
        assert [payload(one)["state"] for one in told] == ["UNACK", "RTN_UNACK"], "raised at once and once, ended late"
        assert payload(told[0])["count"] == payload(told[1])["count"]
        switched = rack.stamps("register", what="HS-102 locked")
        assert len(switched) >= 2 * times


async def changes(listener: Listener, topic: str, phase: str) -> None:
    """Wait until an alarm comes into a phase; what was kept of it before does not count."""
    count = 1
    while True:
        texts = await listener.wait_for(topic, count, timeout_s=8.0)
        fresh = [one for one in listener.heard if str(one.topic) == topic and not one.retain]
        if fresh and payload(fresh[-1])["state"] == phase:
            return
        count = len(texts) + 1


@pytest.mark.field_case("P087")
@pytest.mark.parametrize("level", ["-1", "101", "200", "null", "NaN", "1e9", '"50"', "true", "[50]"])
async def test_an_opening_that_is_none_is_refused_before_any_write(desk: tuple[Guarded, Broker], level: str) -> None:
    rack, mosquitto = desk
    async with heard(mosquitto) as listener:
        before = await state(listener)
        asked = a_request("set_point", args={"fcv_pct": 0}, expect_seq=before["state_seq"])
        body = json.dumps(asked).replace('"fcv_pct": 0', f'"fcv_pct": {level}').encode()
        refusal = await answer(listener, body)
        assert refusal["status"] == "refused", refusal
        assert refusal["would_allow"]
        assert facts(listener, "set_point") == []
        assert (await state(listener))["detail"]["flow"]["asked"] == before["detail"]["flow"]["asked"]
    commanded = [one["value"] for one in rack.stamps("command", what="FCV-101 command")]
    assert all(0.0 <= value <= 100.0 for value in commanded)


@pytest.mark.field_case("P104")
async def test_no_tool_leaves_a_session_behind_at_the_broker(desk: tuple[Guarded, Broker]) -> None:
    rack, mosquitto = desk
    names = "$SYS/broker/clients/disconnected", "$SYS/broker/clients/total"
    for command in (("status", str(rack.config)), ("request", "ack", str(rack.config), "--arg", "alarm=none")):
        done = await asyncio.to_thread(rack.valvey, *command, timeout_s=40.0)
        assert done.returncode in {0, 3}, done.stderr
    async with listening(mosquitto.port, *names) as listener:

        def last(name: str) -> int:
            texts = listener.texts(name)
            return int(texts[-1]) if texts else -1

        await until(
            rack,
            lambda: [last(name) for name in names] == [0, 2],
            6.0,
            "the daemon, whoever asks here, and nobody else",
        )


@pytest.mark.field_case("P059", "P104")
async def test_an_unlock_that_a_broker_held_back_is_not_done_later(tmp_path: Path) -> None:
    async with flowing(tmp_path) as (rack, mosquitto), heard(mosquitto) as listener:
        await answer(listener, a_request("emergency_stop"))
        await asyncio.to_thread(rack.until_state, "ESD", 3.0)
        assert (await answer(listener, a_request("lock", args={"owner": "ann"})))["status"] == "accepted"
        await asyncio.sleep(0.3)
        seq = (await state(listener))["state_seq"]
        unlock = {"args": {"owner": "ann"}}
        late = a_request("unlock", **unlock, expect_seq=seq, expires_at=time.time() - 0.1)
        assert (await answer(listener, late))["code"] == "expired"
        assert (await answer(listener, a_request("unlock", **unlock, expect_seq=seq - 1)))["code"] == "expect_seq"
        assert (await answer(listener, a_request("unlock", **unlock)))["code"] == "expect_seq"
        await asyncio.to_thread(rack.kill)
        body = json.dumps(a_request("unlock", **unlock, expect_seq=seq)).encode()
        await listener.client.publish(f"{BASE}/request/operator/ann", body, 1)  # nobody is there
        await asyncio.to_thread(rack.start)
        await asyncio.sleep(1.0)
        shown = await state(listener)
        assert [one["owner"] for one in shown["locks"]] == ["ann"]
        assert facts(listener, "unlock") == []
        assert shown["state_seq"] > seq, "and a start alone makes the old number stale"
        stale = await answer(listener, body)
        assert (stale["status"], stale["code"]) == ("refused", "expect_seq")

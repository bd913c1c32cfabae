"""The MQTT session against a real Mosquitto that is killed, frozen and started again."""

import asyncio
import gc
import os
import shutil
import ssl
import statistics
import subprocess
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from fieldkit.backoff import Backoff
from fieldkit.canary import Canary
from fieldkit.logs import Secret
from fieldkit.mqtt import MqttSession
from fieldkit.mqtt_types import Incoming, Settings
from fieldkit.outbox import Keep, Outgoing, Properties
from tests.wire.broker import broker, listening, needs_mosquitto

pytestmark = needs_mosquitto

ONLINE = Outgoing("t/availability", b"online", 1, retain=True)
OFFLINE = Outgoing("t/availability", b"offline", 1, retain=True)


class Probe:
    """A session and what it told."""

    def __init__(self, port: int, **more: object) -> None:
        self.notices: list[str] = []
        self.details: list[dict[str, object]] = []
        self.heard: list[Incoming] = []
        self.snapshots = 0
        self.on_message: Callable[[Incoming], None] = self.heard.append
        settings = {"host": "127.0.0.1", "port": port, "client_id": "probe", "timeout_s": 2.0}
        canary = more.pop("canary", None)
        filters = more.pop("subscriptions", ("t/request/#",))
        self.session = MqttSession(
            Settings(**(settings | more)),  # type: ignore[arg-type]
            subscriptions=filters,  # type: ignore[arg-type]
            birth=lambda: ONLINE,
            offline=OFFLINE,
            snapshot=self.snapshot,
            on_message=lambda message: self.on_message(message),
            notice=self.note,
            canary=canary,  # type: ignore[arg-type]
        )
        self.task: asyncio.Task[None] | None = None

    def snapshot(self) -> list[Outgoing]:
        self.snapshots += 1
        return [Outgoing("t/state", f"state {self.snapshots}".encode(), 1, retain=True)]

    def note(self, event: str, fields: dict[str, object]) -> None:
        self.notices.append(event)
        self.details.append(fields)

    async def until(self, state: str, timeout_s: float = 10.0) -> None:
        await until(lambda: self.session.status.state == state, timeout_s, lambda: str(self.session.status))

    async def stop(self) -> None:
        assert self.task is not None
        self.session.stop()
        await asyncio.wait_for(self.task, 8.0)


async def until(
    true: Callable[[], bool], timeout_s: float = 5.0, why: Callable[[], str] = lambda: "it did not happen"
) -> None:
    until_s = time.monotonic() + timeout_s
    while not true():
        if time.monotonic() > until_s:
            raise AssertionError(why())
        await asyncio.sleep(0.005)


@asynccontextmanager
async def session_at(port: int, **more: object) -> AsyncGenerator[Probe, None]:
    probe = Probe(port, **more)
    probe.task = asyncio.create_task(probe.session.run())
    try:
        yield probe
    finally:
        await probe.stop()


both_versions = pytest.mark.parametrize("protocol", ["5", "3.1.1"])


@both_versions
async def test_a_newcomer_hears_birth_and_state_and_after_a_stop_offline(protocol: str, tmp_path: Path) -> None:
    with broker(tmp_path) as mosquitto:
        async with session_at(mosquitto.port, protocol=protocol) as probe:
            await probe.until("connected")
            async with listening(mosquitto.port, "t/#") as listener:
                assert await listener.wait_for("t/availability") == ["online"]
                assert await listener.wait_for("t/state") == ["state 1"]
        async with listening(mosquitto.port, "t/#") as listener:
            assert await listener.wait_for("t/availability") == ["offline"]
        assert probe.notices == ["mqtt_connected", "mqtt_stopped"]


async def test_messages_waiting_at_a_stop_are_sent_before_offline(tmp_path: Path) -> None:
    with broker(tmp_path) as mosquitto:
        async with listening(mosquitto.port, "t/#") as listener:
            async with session_at(mosquitto.port) as probe:
                await probe.until("connected")
                for n in range(200):
                    probe.session.tell_nowait("t/event", str(n).encode(), qos=1, keep=Keep.EVERY)
            await listener.wait_for("t/availability", 2)
            assert listener.texts("t/event") == [str(n) for n in range(200)]
            assert str(listener.heard[-1].topic) == "t/availability"


async def test_a_cancelled_session_says_offline_too(tmp_path: Path) -> None:
    with broker(tmp_path) as mosquitto:
        async with listening(mosquitto.port, "t/availability") as listener:
            probe = Probe(mosquitto.port)
            task = asyncio.create_task(probe.session.run())
            await listener.wait_for("t/availability", 1)
            await probe.until("connected")
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert await listener.wait_for("t/availability", 2) == ["online", "offline"]


@both_versions
async def test_requests_come_with_their_retain_flag_and_properties(protocol: str, tmp_path: Path) -> None:
    with broker(tmp_path) as mosquitto:
        async with listening(mosquitto.port) as listener:
            await listener.client.publish("t/request/operator/old", b"retained", 1, retain=True)
            async with session_at(mosquitto.port, protocol=protocol) as probe:
                await probe.until("connected")
                probe.session.tell_nowait(
                    "t/request/operator/self",
                    b"\xff\xfe\x00",
                    qos=1,
                    properties=Properties("t/answer", b"id", "x/y", 60),
                )
                await until(lambda: len(probe.heard) == 2)
            old, new = probe.heard
            assert (old.payload, old.retain) == (b"retained", True)
            assert (new.payload, new.retain) == (b"\xff\xfe\x00", False)
            sent = Properties("t/answer", b"id", "x/y", new.properties.expiry_s)
            assert new.properties == (sent if protocol == "5" else Properties())


async def test_a_message_that_is_too_long_is_told_but_not_handed_over(tmp_path: Path) -> None:
    with broker(tmp_path) as mosquitto:
        async with session_at(mosquitto.port) as probe, listening(mosquitto.port) as listener:
            await probe.until("connected")
            for size in (4096, 4097, 1_000_000):
                await listener.client.publish("t/request/a/b", b"x" * size, 1)
            await listener.client.publish("t/request/a/b", b"last", 1)
            await until(lambda: len(probe.heard) == 3)
            assert [(len(m.payload), m.too_long) for m in probe.heard] == [(4096, 0), (0, 4097), (4, 0)]


async def test_a_handler_that_raises_is_told_and_the_next_message_comes(tmp_path: Path) -> None:
    with broker(tmp_path) as mosquitto:
        async with session_at(mosquitto.port) as probe, listening(mosquitto.port) as listener:
            await probe.until("connected")

            def bug(message: Incoming) -> None:
                probe.on_message = probe.heard.append
                raise KeyError(message.topic)

            probe.on_message = bug
            await listener.client.publish("t/request/a/b", b"one", 1)
            await listener.client.publish("t/request/a/b", b"two", 1)
            await until(lambda: len(probe.heard) == 1)
            assert probe.heard[0].payload == b"two"
            assert probe.session.status.handler_errors == 1
            assert probe.notices == ["mqtt_connected", "mqtt_handler_failed"]


async def test_a_killed_broker_costs_no_event_and_brings_a_new_snapshot_and_one_subscription(tmp_path: Path) -> None:
    with broker(tmp_path) as mosquitto:
        async with session_at(mosquitto.port) as probe:
            await probe.until("connected")
            for n in range(5):
                probe.session.tell_nowait("t/event", f"before {n}".encode(), qos=1, keep=Keep.EVERY)
            await until(lambda: probe.session.status.sent >= 6)
            mosquitto.kill()
            await probe.until("unreachable")
            for n in range(300):
                probe.session.tell_nowait("t/event", f"during {n}".encode(), qos=1, keep=Keep.EVERY)
                probe.session.tell_nowait("t/telemetry", f"sample {n}".encode())
            mosquitto.start()
            async with listening(mosquitto.port, "t/#") as listener:
                events = await listener.wait_for("t/event", 300, 15.0)
                assert events == [f"during {n}" for n in range(300)]
                assert await listener.wait_for("t/state") == ["state 2"]
                assert listener.texts("t/telemetry") == []  # the snapshot is newer than what waited
                await listener.client.publish("t/request/a/b", b"once", 1)
                await until(lambda: bool(probe.heard))
                await listener.client.publish("t/request/a/b", b"twice", 1)
                await until(lambda: len(probe.heard) == 2)
            assert [m.payload for m in probe.heard] == [b"once", b"twice"]
            assert probe.session.status.dropped_every == 0
        assert probe.notices == ["mqtt_connected", "mqtt_unreachable", "mqtt_connected", "mqtt_stopped"]


async def test_a_frozen_broker_holds_up_nobody_and_events_under_way_are_sent_again(tmp_path: Path) -> None:
    with broker(tmp_path) as mosquitto:
        async with session_at(mosquitto.port, timeout_s=0.5) as probe:
            await probe.until("connected")
            mosquitto.freeze()
            longest_s = 0.0
            for n in range(100):
                started_s = time.monotonic()
                for _ in range(20):
                    probe.session.tell_nowait("t/telemetry", b"x" * 2000)
                probe.session.tell_nowait("t/event", str(n).encode(), qos=1, keep=Keep.EVERY)
                longest_s = max(longest_s, time.monotonic() - started_s)
                await asyncio.sleep(0)
            assert longest_s < 0.05
            await probe.until("unreachable")
            mosquitto.kill()
            mosquitto.start()
            async with listening(mosquitto.port, "t/event") as listener:
                assert await listener.wait_for("t/event", 100, 15.0) == [str(n) for n in range(100)]


async def test_a_stop_with_a_frozen_broker_is_bounded(tmp_path: Path) -> None:
    with broker(tmp_path) as mosquitto:
        async with session_at(mosquitto.port) as probe:
            await probe.until("connected")
            mosquitto.freeze()
            probe.session.tell_nowait("t/event", b"x", qos=1, keep=Keep.EVERY)
            started_s = time.monotonic()
            await probe.stop()
            assert time.monotonic() - started_s < 2.0
            mosquitto.thaw()


async def test_wrong_credentials_are_told_once_and_not_hammered(tmp_path: Path) -> None:
    (tmp_path / "users").write_text("")
    with broker(tmp_path, "allow_anonymous false", f"password_file {tmp_path / 'users'}") as mosquitto:
        async with session_at(mosquitto.port, username="valvey", password=Secret("hunter2")) as probe:
            await probe.until("refused")
            await asyncio.sleep(1.0)
            assert probe.notices == ["mqtt_refused"]
            assert "hunter2" not in str(probe.details)
            assert probe.session._auth_backoff.left_s(asyncio.get_running_loop().time()) > 20.0


async def test_a_broker_that_forbids_a_topic_in_silence_is_found_out_by_the_canary(tmp_path: Path) -> None:
    (tmp_path / "acl").write_text("topic readwrite t/#\n")
    canary = Canary("t/canary", lambda n: f"canary {n}".encode(), period_s=0.05, patience_s=0.3)
    forbidden = Canary("secret/canary", canary.payload, period_s=0.05, patience_s=0.3)
    with broker(tmp_path, f"acl_file {tmp_path / 'acl'}") as mosquitto:
        async with session_at(mosquitto.port, canary=canary) as probe:
            await until(lambda: "mqtt_path_proven" in probe.notices)
            assert probe.session.canary is not None
            assert probe.session.canary.round_trip_s is not None
            assert probe.heard == []
        async with session_at(mosquitto.port, canary=forbidden) as probe:
            await until(lambda: "mqtt_path_not_proven" in probe.notices)
            await asyncio.sleep(0.8)
            assert probe.notices.count("mqtt_path_not_proven") == 1
            assert probe.session.status.state == "connected"


async def test_two_with_one_client_id_find_out_that_they_quarrel(tmp_path: Path) -> None:
    with broker(tmp_path) as mosquitto:
        async with session_at(mosquitto.port) as one, session_at(mosquitto.port) as other:
            one.session._backoff = other.session._backoff = Backoff(0.05, 0.05)
            await until(lambda: one.session.status.taken_over and other.session.status.taken_over, 20.0)
            assert one.notices.count("mqtt_taken_over") == 1


async def test_the_birth_is_said_again_from_time_to_time(tmp_path: Path) -> None:
    with broker(tmp_path) as mosquitto:
        async with listening(mosquitto.port, "t/availability") as listener, session_at(mosquitto.port, reassert_s=0.1):
            assert await listener.wait_for("t/availability", 3) == ["online"] * 3


async def test_a_request_and_its_answer_take_milliseconds_not_a_nagle_period(tmp_path: Path) -> None:
    with broker(tmp_path) as mosquitto:
        async with session_at(mosquitto.port) as probe, listening(mosquitto.port, "t/answer") as listener:
            await probe.until("connected")
            probe.on_message = lambda m: probe.session.tell_nowait("t/answer", m.payload, qos=1, keep=Keep.EVERY)
            took_s = []
            for n in range(50):
                started_s = time.monotonic()
                await listener.client.publish("t/request/a/b", str(n).encode(), 1)
                await listener.wait_for("t/answer", n + 1)
                took_s.append(time.monotonic() - started_s)
            assert statistics.median(took_s) < 0.02


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


async def test_a_broker_that_accepts_and_never_answers_is_survived_without_a_leak(tmp_path: Path) -> None:
    async def accept(reader: asyncio.StreamReader, wire: asyncio.StreamWriter) -> None:
        await reader.read()
        wire.close()

    with broker(tmp_path) as mosquitto:
        dead = await asyncio.start_server(accept, "127.0.0.1", 0)
        port = dead.sockets[0].getsockname()[1]
        probe = Probe(port, timeout_s=0.03)
        probe.session._backoff = Backoff(0.005, 0.005)
        task = asyncio.create_task(probe.session.run())
        await asyncio.sleep(0.3)
        gc.collect()
        before, tasks = descriptors(), len(asyncio.all_tasks())
        await asyncio.sleep(2.0)
        gc.collect()
        assert descriptors() <= before + 4
        assert len(asyncio.all_tasks()) <= tasks + 4
        assert probe.notices == ["mqtt_unreachable"]
        probe.session.settings = Settings("127.0.0.1", mosquitto.port, "probe")
        await probe.until("connected")
        probe.session.stop()
        await task
        dead.close()


async def test_a_refused_subscription_is_told_although_the_connection_stands() -> None:
    async def forbidding(reader: asyncio.StreamReader, wire: asyncio.StreamWriter) -> None:
        try:
            while True:
                kind = (await reader.readexactly(1))[0]
                body = await reader.readexactly((await reader.readexactly(1))[0])
                if kind >> 4 == 1:
                    wire.write(b"\x20\x02\x00\x00")
                elif kind >> 4 == 8:
                    wire.write(b"\x90\x03" + body[:2] + b"\x80")
                elif kind >> 4 == 3 and kind & 0x06:
                    end = 2 + int.from_bytes(body[:2], "big")
                    wire.write(b"\x40\x02" + body[end : end + 2])
        except (asyncio.IncompleteReadError, ConnectionError):
            wire.close()

    server = await asyncio.start_server(forbidding, "127.0.0.1", 0)
    async with session_at(server.sockets[0].getsockname()[1], protocol="3.1.1") as probe:
        await probe.until("connected")
        assert probe.session.status.refused_topics == ("t/request/#",)
        assert probe.notices == ["mqtt_subscriptions_refused", "mqtt_connected"]
    server.close()


OPENSSL = shutil.which("openssl")


def made(folder: Path, name: str, *more: str) -> None:
    """Make a key and a certificate for ``name``, signed by the folder's authority (which signs itself)."""
    signer = [] if name == "ca" else ["-CA", f"{folder}/ca.crt", "-CAkey", f"{folder}/ca.key"]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", f"/CN={name}", "-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.crt", *signer, *more],
        check=True, capture_output=True,
    )  # fmt: skip


@pytest.mark.skipif(OPENSSL is None, reason="openssl is not installed here")
async def test_a_session_over_mutual_tls_carries_big_and_small_messages(tmp_path: Path) -> None:
    await asyncio.to_thread(made, tmp_path, "ca")
    for name in ("broker", "valvey-r01"):
        await asyncio.to_thread(made, tmp_path, name, "-addext", "subjectAltName=IP:127.0.0.1")
    lines = [f"cafile {tmp_path}/ca.crt", f"certfile {tmp_path}/broker.crt", f"keyfile {tmp_path}/broker.key"]
    with broker(tmp_path, *lines, "require_certificate true", "use_identity_as_username true") as mosquitto:
        tls = ssl.create_default_context(cafile=str(tmp_path / "ca.crt"))
        async with session_at(mosquitto.port, tls=tls) as stranger:
            await stranger.until("unreachable")
        tls.load_cert_chain(tmp_path / "valvey-r01.crt", tmp_path / "valvey-r01.key")
        async with session_at(mosquitto.port, tls=tls, max_payload=300_000) as probe:
            await probe.until("connected")
            sent = [bytes([n]) * size for n, size in enumerate((1, 200_000, 3, 250_000, 5))]
            for payload in sent:
                probe.session.tell_nowait("t/request/x", payload, qos=1, keep=Keep.EVERY)
            await until(lambda: len(probe.heard) == len(sent))
            assert [m.payload for m in probe.heard] == sent

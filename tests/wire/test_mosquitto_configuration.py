"""The shipped Mosquitto configuration, in a real Mosquitto: who may say and hear what, and how fast."""

import asyncio
import re
import shutil
import socket
import ssl
import statistics
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from getpass import getuser
from pathlib import Path

import aiomqtt
import pytest

from fieldkit.topics import Daemon, Kind, Role
from tests.wire.broker import MOSQUITTO, free_port, needs_mosquitto

CONFIGS = Path(__file__).resolve().parents[2] / "configs" / "mosquitto"
PASSWD = shutil.which("mosquitto_passwd") or shutil.which("mosquitto_passwd", path="/usr/bin")
OPENSSL = shutil.which("openssl")

pytestmark = [needs_mosquitto, pytest.mark.skipif(OPENSSL is None, reason="openssl is not installed here")]

NODELAY = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
JUDGE = "judge"  # added by these tests: sees everything, so that what passed can be told from what did not
NAMES = ("ann", "otto", "edda", "sami", "sue", "valvey-r01", "racky-r01", "loop-cdu1", "dsx-gateway", JUDGE)
R01 = "racky/v1/demo/r01/valvey"
R02 = "racky/v1/demo/r02/valvey"
RACKY = "racky/v1/demo/r01/racky"

# fmt: off
#: user, topic, may it be written?
WRITES = (
    ("otto",        f"{R01}/request/operator/otto",            True),
    ("otto",        f"{R02}/request/operator/otto",            True),
    ("otto",        f"{R01}/request/operator/edda",            False),
    ("otto",        f"{R01}/request/safety/otto",              False),
    ("otto",        f"{R01}/request/safety/sami",              False),
    ("otto",        f"{R01}/request/operator/otto/more",       False),
    ("otto",        f"{R01}/state",                            False),
    ("ann",         f"{R01}/request/observer/ann",             False),
    ("ann",         f"{R01}/request/operator/ann",             False),
    ("ann",         f"{R01}/state",                            False),
    ("edda",        f"{R01}/request/engineer/edda",            True),
    ("edda",        f"{R01}/request/supervisor/edda",          False),
    ("sami",        f"{R01}/request/safety/sami",              True),
    ("sue",         f"{R01}/request/supervisor/sue",           True),
    ("sue",         f"{R01}/request/operator/sue",             False),
    ("valvey-r01",  f"{R01}/state",                            True),
    ("valvey-r01",  f"{R01}/alarm/sif-1",                      True),
    ("valvey-r01",  f"{R01}/response/otto",                    True),
    ("valvey-r01",  f"{R01}/canary",                           True),
    ("valvey-r01",  "racky/v1/demo/cdu1/loop/lease/r01",       True),
    ("valvey-r01",  f"{R02}/state",                            False),
    ("valvey-r01",  f"{R02}/request/operator/valvey-r01",      False),
    ("valvey-r01",  f"{R01}/request/operator/valvey-r01",      False),
    ("valvey-r01",  "racky/v1/demo/r01/racky/state",           False),
    ("valvey-r01",  "racky/v1/other/r01/valvey/state",         False),
    ("valvey-r01",  "racky/v1/demo/cdu1/loop/lease/r02",       False),
    ("valvey-r01",  "racky/v1/demo/cdu1/loop/grant/r01",       False),
    ("racky-r01",   f"{R01}/request/racky/racky-r01",          True),
    ("racky-r01",   f"{R02}/request/racky/racky-r01",          False),
    ("racky-r01",   f"{R01}/state",                            False),
    ("racky-r01",   f"{R01}/request/operator/racky-r01",       False),
    ("racky-r01",   f"{R01}/response/otto",                    False),
    ("racky-r01",   f"{RACKY}/state",                          True),
    ("racky-r01",   f"{RACKY}/alarm/not-healthy",              True),
    ("racky-r01",   f"{RACKY}/response/otto",                  True),
    ("otto",        f"{RACKY}/request/operator/otto",          True),
    ("otto",        f"{RACKY}/state",                          False),
    ("dsx-gateway", f"{RACKY}/request/integration/dsx-gateway", True),
    ("loop-cdu1",   "racky/v1/demo/cdu1/loop/grant/r01",       True),
    ("loop-cdu1",   f"{R01}/request/coordinator/loop-cdu1",    True),
    ("loop-cdu1",   f"{R01}/request/operator/loop-cdu1",       False),
    ("dsx-gateway", f"{R01}/request/integration/dsx-gateway",  True),
    ("dsx-gateway", f"{R01}/request/safety/dsx-gateway",       False),
)
#: topic, who of NAMES but the judge hears it
HEARD = (
    (f"{R01}/state",                      {"ann", "otto", "edda", "sami", "sue", "valvey-r01", "racky-r01", "loop-cdu1", "dsx-gateway"}),
    (f"{R01}/response/otto",              {"otto"}),
    (f"{R01}/request/operator/otto",      {"valvey-r01"}),
    (f"{R02}/request/operator/otto",      set[str]()),
    (f"{R01}/canary",                     {"valvey-r01"}),
    (f"{RACKY}/request/operator/otto",    {"racky-r01"}),
    (f"{R01}/response/racky-r01",         {"racky-r01"}),
    ("racky/v1/demo/cdu1/loop/grant/r01", {"valvey-r01"}),
    ("racky/v1/demo/cdu1/loop/lease/r01", {"loop-cdu1"}),
)
# fmt: on


@dataclass(frozen=True)
class Broker:
    """A running Mosquitto with the shipped files; every name's password is the name, otto has a certificate too."""

    port: int
    tls_port: int
    certs: Path

    def client(self, name: str | None, *, password: str | None = None) -> aiomqtt.Client:
        return aiomqtt.Client(
            "127.0.0.1", self.port, username=name, password=password or name, timeout=5.0, socket_options=NODELAY
        )

    def tls_client(self, certificate: str, *, username: str) -> aiomqtt.Client:
        context = ssl.create_default_context(cafile=self.certs / "racky-ca.crt")
        context.load_cert_chain(self.certs / f"{certificate}.crt", self.certs / f"{certificate}.key")
        return aiomqtt.Client(
            "localhost", self.tls_port, username=username, password=username, tls_context=context, timeout=5.0
        )


def _openssl(folder: Path, *arguments: str) -> None:
    subprocess.run([str(OPENSSL), *arguments], cwd=folder, check=True, capture_output=True)


def _make_certificates(folder: Path) -> None:
    """An authority of our own, the broker's certificate and otto's."""
    folder.mkdir()
    key = ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    _openssl(folder, *key, "-subj", "/CN=racky test authority", "-keyout", "racky-ca.key", "-out", "racky-ca.crt")
    by = ("-CA", "racky-ca.crt", "-CAkey", "racky-ca.key", "-addext", "basicConstraints=critical,CA:FALSE")
    for file, name, alternative in (("broker", "localhost", "DNS:localhost"), ("otto", "otto", "DNS:otto")):
        also = ("-addext", f"subjectAltName={alternative}", "-keyout", f"{file}.key", "-out", f"{file}.crt")
        _openssl(folder, *key, *by, "-subj", f"/CN={name}", *also)


def _configure(folder: Path, port: int, tls_port: int) -> Path:
    """The shipped files, moved into ``folder`` and to free ports."""
    passwords = folder / "racky.passwd"
    passwords.write_text("".join(f"{name}:{name}\n" for name in NAMES), encoding="utf-8")
    subprocess.run([str(PASSWD), "-U", str(passwords)], check=True, capture_output=True)
    acl = (CONFIGS / "racky.acl").read_text(encoding="utf-8") + f"\nuser {JUDGE}\ntopic readwrite #\n"
    (folder / "racky.acl").write_text(acl, encoding="utf-8")
    _make_certificates(folder / "certs")
    parts = [(CONFIGS / name).read_text(encoding="utf-8") for name in ("racky.conf", "racky-tls.conf.example")]
    moved = "\n".join([*parts, f"user {getuser()}"]).replace("/etc/mosquitto", str(folder))
    moved = moved.replace("listener 1883 ", f"listener {port} ").replace(
        "listener 8883", f"listener {tls_port} 127.0.0.1"
    )
    (folder / "racky.conf").write_text(moved + "\n", encoding="utf-8")
    return folder / "racky.conf"


def _wait_for_listener(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    until_s = time.monotonic() + 10.0
    while time.monotonic() < until_s and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
        except ConnectionRefusedError:
            time.sleep(0.02)
        else:
            return
    pytest.fail(f"mosquitto does not listen: {log.read_text(encoding='utf-8', errors='replace')}")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    folder = tmp_path_factory.mktemp("mosquitto")
    port, tls_port, log = free_port(), free_port(), folder / "log"
    command = [str(MOSQUITTO), "-c", str(_configure(folder, port, tls_port))]
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
    try:
        _wait_for_listener(port, process, log)
        _wait_for_listener(tls_port, process, log)
        yield Broker(port, tls_port, folder / "certs")
    finally:
        process.terminate()
        process.wait(timeout=10.0)


@pytest.fixture
async def judge(broker: Broker) -> AsyncIterator[aiomqtt.Client]:
    async with broker.client(JUDGE) as client:
        await client.subscribe("racky/#", qos=1)
        yield client


async def _topics_until(client: aiomqtt.Client, last: str) -> set[str]:
    """Topics that arrive before ``last`` does; messages of one connection stay in order."""
    seen: set[str] = set()
    async with asyncio.timeout(10.0):
        async for message in client.messages:
            if str(message.topic) == last:
                break
            seen.add(str(message.topic))
    return seen


@pytest.mark.parametrize("user", sorted({user for user, _, _ in WRITES}))
async def test_a_user_writes_only_what_its_role_may(user: str, broker: Broker, judge: aiomqtt.Client) -> None:
    mine = [(topic, may) for name, topic, may in WRITES if name == user]
    async with broker.client(user) as client:
        for topic, _ in mine:
            await client.publish(topic, "{}", qos=1)  # MQTT 3.1.1 acknowledges what it refuses
    await judge.publish("racky/last", qos=1)
    assert await _topics_until(judge, "racky/last") == {topic for topic, may in mine if may}


@pytest.mark.parametrize("user", [name for name in NAMES if name != JUDGE])
async def test_a_user_hears_the_facts_and_its_own_answers_only(
    user: str, broker: Broker, judge: aiomqtt.Client
) -> None:
    last = "racky/v1/demo/zz/valvey/state"  # everybody may hear it
    async with broker.client(user) as client:
        await client.subscribe("racky/#", qos=1)
        for topic, _ in HEARD:
            await judge.publish(topic, "{}", qos=1)
        await judge.publish(last, "{}", qos=1)
        assert await _topics_until(client, last) == {topic for topic, hearers in HEARD if user in hearers}


@pytest.mark.parametrize(("name", "password"), [("otto", "wrong"), ("nobody", "nobody"), (None, None)])
async def test_nobody_enters_without_a_name_and_its_password(
    name: str | None, password: str | None, broker: Broker
) -> None:
    with pytest.raises(aiomqtt.MqttError, match=r"(?i)not authori[sz]ed|code:5"):
        async with broker.client(name, password=password):
            pass


async def test_a_certificate_is_a_login_and_gives_the_same_rights(broker: Broker, judge: aiomqtt.Client) -> None:
    async with broker.tls_client("otto", username="sami") as client:  # the certificate counts, not what is claimed
        await client.publish(f"{R01}/request/safety/sami", "{}", qos=1)
        await client.publish(f"{R01}/request/operator/otto", "{}", qos=1)
    await judge.publish("racky/last", qos=1)
    assert await _topics_until(judge, "racky/last") == {f"{R01}/request/operator/otto"}


def test_from_elsewhere_nobody_enters_without_a_certificate(broker: Broker) -> None:
    context = ssl.create_default_context(cafile=broker.certs / "racky-ca.crt")
    with (
        socket.create_connection(("127.0.0.1", broker.tls_port), timeout=5.0) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as wrapped,
        pytest.raises(ssl.SSLError, match=r"(?i)certificate.required"),
    ):
        wrapped.recv(1)  # in TLS 1.3 the refusal comes after the client's side of the handshake


async def test_a_message_larger_than_ours_ends_the_connection(broker: Broker) -> None:
    limit = int(re.findall(r"^max_packet_size (\d+)$", (CONFIGS / "racky.conf").read_text("utf-8"), re.MULTILINE)[0])
    async with broker.client("valvey-r01") as client:
        await client.publish(f"{R01}/telemetry", b"x" * limit, qos=0)
        with pytest.raises(aiomqtt.MqttError, match=r"(?i)disconnected"):
            async with asyncio.timeout(5.0):
                await anext(aiter(client.messages))


async def _answer(daemon: aiomqtt.Client, requests: int) -> None:
    stream = aiter(daemon.messages)
    for _ in range(requests):
        message = await anext(stream)
        await daemon.publish(f"{R01}/response/otto", message.payload, qos=1)


async def test_an_answer_is_not_held_back_behind_an_acknowledgement(broker: Broker) -> None:
    rounds, took_s = 80, list[float]()
    async with broker.client("valvey-r01") as daemon, broker.client("otto") as person, asyncio.timeout(20.0):
        await daemon.subscribe(f"{R01}/request/+/+", qos=1)
        await person.subscribe(f"{R01}/response/otto", qos=1)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_answer(daemon, rounds))
            answers = aiter(person.messages)
            for n in range(rounds):
                began_s = time.monotonic()
                await person.publish(f"{R01}/request/operator/otto", str(n), qos=1)
                await anext(answers)
                took_s.append(time.monotonic() - began_s)
    # The kernel acknowledges at once on a new connection, hence the later half. 0.04 s and more without TCP_NODELAY.
    assert statistics.median(took_s[rounds // 2 :]) < 0.02


def test_every_role_that_may_ask_has_its_example() -> None:
    acl = (CONFIGS / "racky.acl").read_text(encoding="utf-8")
    named = set(re.findall(r"^topic write .*/request/([a-z]+)/", acl, flags=re.MULTILINE))
    assert named == set(Role) - {Role.OBSERVER}


@pytest.mark.parametrize("daemon", [Daemon.VALVEY, Daemon.RACKY])
def test_a_daemon_may_send_and_hear_all_that_the_contract_has_it_do(daemon: Daemon) -> None:
    block = (CONFIGS / "racky.acl").read_text(encoding="utf-8").split(f"user {daemon}-r01\n")[1].split("\nuser ")[0]
    kinds = {
        access: set(re.findall(rf"^topic {access} racky/v1/demo/r01/{daemon}/([a-z]+)", block, re.MULTILINE))
        for access in ("write", "read", "readwrite")
    }
    ours = set(Kind) - {Kind.LEASE, Kind.GRANT}  # the loop's
    assert kinds["readwrite"] == {Kind.CANARY}
    assert kinds["read"] == {Kind.REQUEST}
    assert kinds["write"] == ours - {Kind.CANARY, Kind.REQUEST}

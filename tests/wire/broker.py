"""A real Mosquitto on a free port, which a test may kill, stop, freeze and start again."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import aiomqtt
import pytest

MOSQUITTO = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")

needs_mosquitto = pytest.mark.skipif(MOSQUITTO is None, reason="mosquitto is not installed here")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Broker:
    """One Mosquitto; ``extra`` lines go into its configuration."""

    def __init__(self, folder: Path, *extra: str) -> None:
        self.port = free_port()
        self.config = folder / f"mosquitto-{self.port}.conf"
        lines = [f"listener {self.port} 127.0.0.1", "set_tcp_nodelay true", "persistence false", "log_dest none"]
        if os.geteuid() == 0:
            lines.append("user root")
        if not any(line.startswith("allow_anonymous") for line in extra):
            lines.append("allow_anonymous true")
        self.config.write_text("\n".join([*lines, *extra]) + "\n")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        assert MOSQUITTO is not None
        self._process = subprocess.Popen(
            [MOSQUITTO, "-c", str(self.config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise RuntimeError("mosquitto did not come up")

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)
            self._process.send_signal(number)
            self._process.wait()
            self._process = None

    def freeze(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)


@contextmanager
def broker(folder: Path, *extra: str) -> Generator[Broker, None, None]:
    one = Broker(folder, *extra)
    one.start()
    try:
        yield one
    finally:
        one.kill()


class Listener:
    """A plain client that collects what it hears."""

    def __init__(self, client: aiomqtt.Client) -> None:
        self.client = client
        self.heard: list[aiomqtt.Message] = []

    def texts(self, topic: str) -> list[str]:
        return [bytes(m.payload).decode() for m in self.heard if str(m.topic) == topic]

    async def wait_for(self, topic: str, count: int = 1, timeout_s: float = 5.0) -> list[str]:
        until_s = time.monotonic() + timeout_s
        while len(self.texts(topic)) < count:
            if time.monotonic() > until_s:
                raise AssertionError(f"{count} messages of {topic} expected, heard {self.texts(topic)}")
            await asyncio.sleep(0.005)
        return self.texts(topic)


@asynccontextmanager
async def listening(port: int, *filters: str, v5: bool = True) -> AsyncGenerator[Listener, None]:
    protocol = aiomqtt.ProtocolVersion.V5 if v5 else aiomqtt.ProtocolVersion.V311
    nodelay = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
    async with aiomqtt.Client("127.0.0.1", port, protocol=protocol, socket_options=nodelay) as client:
        listener = Listener(client)

        async def collect() -> None:
            async for message in client.messages:
                listener.heard.append(message)

        task = asyncio.create_task(collect())
        if filters:
            await client.subscribe([(one, 1) for one in filters])
        try:
            yield listener
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

"""A broker for the demo: the one named, else Mosquitto where it is installed, else the one embedded in the iotcore wheel."""

import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from bench.demo.processes import Children

MISSING = """There is no MQTT broker to run the demo with. Any one of these helps:
  - install Mosquitto:          sudo make system-packages        (Debian, Ubuntu)
  - use one that is running:    make demo MQTT=host:port
  - on x86_64 Linux:            make demo                         after 'pip install iotcore' works here"""

_MOSQUITTO = """# written by the demo; loopback only
listener {port} 127.0.0.1
allow_anonymous true
set_tcp_nodelay true
persistence false
max_packet_size 262144
max_queued_messages 20000
log_type error
log_type warning
"""

_EMBEDDED = """# written by the demo; loopback only
id = 0

[router]
id = 0
max_connections = 1000
max_outgoing_packet_count = 200
max_segment_size = 104857600
max_segment_count = 10

[v5.1]
name = "v5-1"
listen = "127.0.0.1:{port}"
next_connection_delay_ms = 1
    [v5.1.connections]
    connection_timeout_ms = 60000
    max_payload_size = 262144
    max_inflight_count = 100
"""


class NoBrokerError(RuntimeError):
    """No broker can be had; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Broker:
    """Where it listens; ``kind`` is mosquitto, embedded or external."""

    host: str
    port: int
    kind: str

    @property
    def url(self) -> str:
        return f"mqtt://{self.host}:{self.port}"


def start_broker(children: Children, directory: Path, external: str | None) -> Broker:
    """Return a broker that accepts connections. Raises NoBrokerError."""
    if external:
        host, _, port = external.rpartition(":")
        if not host or not port.isdigit():
            raise NoBrokerError(f"MQTT={external!r}: it must be host:port")
        _await_port(host, int(port), f"the broker at {external} does not accept connections")
        return Broker(host, int(port), "external")
    port_number = _free_port()
    mosquitto = shutil.which("mosquitto", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
    if mosquitto is not None:
        return _mosquitto(children, directory, mosquitto, port_number)
    if importlib.util.find_spec("iotcore") is not None:
        return _embedded(children, directory, port_number)
    raise NoBrokerError(MISSING)


def _mosquitto(children: Children, directory: Path, program: str, port: int) -> Broker:
    config = directory / "mosquitto.conf"
    config.write_text(_MOSQUITTO.format(port=port))
    children.start("mosquitto", [program, "-c", str(config)])
    _await_port("127.0.0.1", port, "mosquitto does not start; see its log", children)
    return Broker("127.0.0.1", port, "mosquitto")


def _embedded(children: Children, directory: Path, port: int) -> Broker:
    config = directory / "broker.toml"
    config.write_text(_EMBEDDED.format(port=port))
    options = json.dumps({"config_path": str(config)})
    # the broker ends with the pipe at its stdin, which this process holds
    children.start("broker", [sys.executable, "-m", "iotcore._serve", options], stdin=subprocess.PIPE)
    _await_port("127.0.0.1", port, "the embedded broker does not start; see its log", children)
    return Broker("127.0.0.1", port, "embedded")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await_port(host: str, port: int, failure: str, children: Children | None = None, within_s: float = 5.0) -> None:
    end_s = time.monotonic() + within_s
    while time.monotonic() < end_s:
        try:
            socket.create_connection((host, port), timeout=0.5).close()
        except OSError:
            if children is not None and children.ended():
                break
            time.sleep(0.02)
        else:
            return
    raise NoBrokerError(failure)

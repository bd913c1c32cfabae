"""What an MQTT session is told and what it tells about itself; knows no MQTT library."""

import ssl
from collections import deque
from dataclasses import dataclass

from fieldkit.logs import Secret
from fieldkit.outbox import Properties


@dataclass(frozen=True, slots=True)
class Incoming:
    """One message as it came. ``too_long`` is its length when it was over the limit; ``payload`` is then empty."""

    topic: str
    payload: bytes
    retain: bool
    properties: Properties
    too_long: int = 0


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the broker is and who we are.

    protocol     "5" or "3.1.1"
    keepalive_s  the broker tells our will 1.5 times this after we fell silent
    timeout_s    longest wait for any answer of the broker
    max_payload  bytes; a longer message comes as ``too_long`` (one of 16 times this stays at an MQTT 5 broker)
    reassert_s   time between repetitions of the birth message
    """

    host: str
    port: int
    client_id: str
    protocol: str = "5"
    username: str | None = None
    password: Secret | None = None
    tls: ssl.SSLContext | None = None
    keepalive_s: int = 15
    timeout_s: float = 5.0
    max_payload: int = 4096
    reassert_s: float = 60.0


@dataclass(slots=True)
class Status:
    """What the session is doing, and its totals since start."""

    state: str = "connecting"
    """connecting, connected, unreachable, refused (credentials), stopped"""
    detail: str = ""
    connects: int = 0
    drops: int = 0
    sent: int = 0
    received: int = 0
    too_long: int = 0
    handler_errors: int = 0
    taken_over: bool = False
    """Another client uses our id: it and we throw each other out."""
    refused_topics: tuple[str, ...] = ()
    """Subscriptions that the broker refused: what is sent there does not reach us."""
    dropped_latest: int = 0
    dropped_every: int = 0
    """Messages that the box had no room for: of those that a newer one replaces, and of those that all count."""


class Quarrel:
    """Notices that another client uses our id, which 3.1.1 does not tell: more than 3 drops in 30 s."""

    def __init__(self, *, drops: int = 3, within_s: float = 30.0) -> None:
        self._within_s = within_s
        self._times_s: deque[float] = deque(maxlen=drops + 1)

    def dropped(self, now_s: float) -> bool:
        """Note the end of a connection; return whether it looks like a quarrel."""
        self._times_s.append(now_s)
        return len(self._times_s) == self._times_s.maxlen and now_s - self._times_s[0] <= self._within_s

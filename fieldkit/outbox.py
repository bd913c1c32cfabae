"""What waits to be published: bounded, never blocking, and honest about what it had to drop. Pure."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Keep(StrEnum):
    """What happens to a message that cannot leave yet."""

    LATEST = "latest"
    """A newer one of the same topic takes its place; the oldest topic goes first when there are too many."""
    EVERY = "every"
    """Kept in order; the oldest goes only when the bound is reached, and is counted."""


@dataclass(frozen=True, slots=True)
class Properties:
    """What MQTT 5 carries beside the payload; over 3.1.1 it is simply not sent.

    expiry_s  seconds after which the broker forgets the message
    """

    response_topic: str | None = None
    correlation: bytes | None = None
    content_type: str | None = None
    expiry_s: int | None = None


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One message to publish."""

    topic: str
    payload: bytes
    qos: int = 0
    retain: bool = False
    keep: Keep = Keep.LATEST
    properties: Properties | None = None


class Outbox:
    """Two queues, served in turns.

    most_topics         topics with a waiting latest message
    most_every          messages that are all kept: an hour's outage at 5 a second is 18 000
    most_every_bytes    their payloads together
    """

    def __init__(
        self, *, most_topics: int = 512, most_every: int = 20_000, most_every_bytes: int = 8 * 1024 * 1024
    ) -> None:
        self._most_topics = most_topics
        self._most_every = most_every
        self._most_bytes = most_every_bytes
        self._latest: dict[str, Outgoing] = {}
        self._every: deque[Outgoing] = deque()
        self._bytes = 0
        self._turn = False
        self.dropped_latest = 0
        self.dropped_every = 0

    def __len__(self) -> int:
        return len(self._latest) + len(self._every)

    def put(self, message: Outgoing) -> None:
        """Take a message; what does not fit is dropped, oldest first, and counted. Never blocks."""
        if message.keep is Keep.EVERY:
            self._every.append(message)
            self._bytes += len(message.payload)
            self._trim()
            return
        # A topic keeps its place when its message is replaced: a busy one must not be put off for ever.
        if message.topic not in self._latest and len(self._latest) >= self._most_topics:
            del self._latest[next(iter(self._latest))]
            self.dropped_latest += 1
        self._latest[message.topic] = message

    def take(self) -> Outgoing | None:
        """The next message, the two queues in turns; None when both are empty."""
        self._turn = not self._turn
        if self._every and (self._turn or not self._latest):
            message = self._every.popleft()
            self._bytes -= len(message.payload)
            return message
        if self._latest:
            return self._latest.pop(next(iter(self._latest)))
        return None

    def put_back(self, messages: Iterable[Outgoing]) -> None:
        """Return messages that were taken and not delivered, in their order, before all others.

        A latest message whose topic has a newer one by now is superseded.
        """
        for message in reversed(tuple(messages)):
            if message.keep is Keep.EVERY:
                self._every.appendleft(message)
                self._bytes += len(message.payload)
            else:
                self._latest.setdefault(message.topic, message)
        self._trim()

    def forget_latest(self) -> None:
        """A full snapshot follows: what waits of the old one is of no use."""
        self._latest.clear()

    def _trim(self) -> None:
        while len(self._every) > self._most_every or (self._bytes > self._most_bytes and len(self._every) > 1):
            self._bytes -= len(self._every.popleft().payload)
            self.dropped_every += 1

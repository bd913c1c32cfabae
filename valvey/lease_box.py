"""The way between a rack and its loop's coordinator: what the scan asks goes out, what is answered waits for the next scan."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from fieldkit import envelope
from fieldkit.mqtt_types import Incoming
from fieldkit.outbox import Keep, Outgoing, Properties
from fieldkit.topics import DELIVERIES, Kind
from valvey import lease_letters
from valvey.core.leasing import Answer, Ask

MOST_A_SCAN = 8
"""Messages that are read between two scans: a coordinator that answers asks sends one or two."""
EXPIRY_S = 10
JSON = Properties(content_type="application/json", expiry_s=EXPIRY_S)
"""Whoever is told later than that would grant what nobody waits for."""


@dataclass(slots=True)
class LeaseCounters:
    """Totals since start."""

    taken: int = 0
    strange: int = 0
    """Messages that are no answer, or retained."""
    flooded: int = 0
    """Messages that were not looked into."""


class LeaseBox:
    """One rack's dealings with the coordinator ``loop``; with None it listens to nobody and says nothing."""

    def __init__(self, site: str, loop: str | None, rack: str, simulated: bool) -> None:
        self.counters = LeaseCounters()
        self.topic = None if loop is None else lease_letters.answer_topic(site, loop, rack)
        """Where answers come; None: nowhere."""
        self._ask_topic = None if loop is None else lease_letters.ask_topic(site, loop, rack)
        self._simulated = simulated
        self._answers: deque[Answer] = deque()
        self._heard = 0

    def filters(self) -> list[str]:
        """The subscriptions that bring the answers."""
        return [] if self.topic is None else [self.topic]

    def take(self) -> tuple[Answer, ...]:
        """What was answered since the last call."""
        self._heard = 0
        answers = tuple(self._answers)
        self._answers.clear()
        return answers

    def message(self, incoming: Incoming) -> None:
        """Take one message of ``topic``. Never raises for what is in it."""
        self._heard += 1
        if self._heard > MOST_A_SCAN:
            self.counters.flooded += 1
            return
        answer = lease_letters.answer_in(incoming)
        if answer is None:
            self.counters.strange += 1
            return
        self.counters.taken += 1
        self._answers.append(answer)

    def letters(self, asks: Iterable[Ask]) -> Iterable[Outgoing]:
        """Yield what the scan asks as it goes on the bus. What cannot be sent now must not be sent later."""
        delivery = DELIVERIES[Kind.LEASE]
        for ask in asks:
            if self._ask_topic is not None:
                payload = envelope.dump(lease_letters.letter(ask, self._simulated))
                yield Outgoing(self._ask_topic, payload, delivery.qos, delivery.retain, Keep.EVERY, JSON)

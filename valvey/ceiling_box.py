"""What the loop's coordinator leaves this rack while flow is short: heard from its retained state, put among the readings.

A reading like any other: the scan judges its age, the record keeps it. Its time is when the coordinator was last heard,
with its state or with its sign of life; a sign of life that the broker kept, or gave in its place, is none.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from fieldkit import envelope
from fieldkit.errors import Refusal
from fieldkit.mqtt_types import Incoming
from fieldkit.reading import Quality, Reading
from fieldkit.topics import Daemon, Kind, topic
from fieldkit.units import Unit
from valvey.core.steering import CEILING_TAG


@dataclass(slots=True)
class CeilingCounters:
    """Totals since start."""

    heard: int = 0
    strange: int = 0
    """Messages that cannot be read."""


class CeilingBox:
    """Listens to the coordinator ``loop`` for ``rack``; with None it listens to nobody.

    readings   gets SYS-CEILING: L/min, 0 = as much as it wants
    """

    def __init__(
        self, site: str, loop: str | None, rack: str, readings: dict[str, Reading], now_s: Callable[[], float]
    ) -> None:
        self.counters = CeilingCounters()
        self._rack, self._readings, self._now_s = rack, readings, now_s
        self._state = self._alive = ""
        if loop is not None:
            self._state = str(topic(site, loop, Daemon.LOOP, Kind.STATE))
            self._alive = str(topic(site, loop, Daemon.LOOP, Kind.AVAILABILITY))

    def filters(self) -> list[str]:
        """The subscriptions that bring its messages."""
        return [self._state, self._alive] if self._state else []

    def message(self, incoming: Incoming) -> None:
        """Take one message of ``filters``. Never raises for what is in it."""
        if incoming.topic == self._alive:
            self._sign_of_life(incoming)
            return
        state = envelope.parse(envelope.State, incoming.payload)
        told = None if isinstance(state, Refusal) else ceiling_of(state, self._rack)
        if told is None:
            self.counters.strange += 1
            return
        self.counters.heard += 1
        self._readings[CEILING_TAG] = Reading(CEILING_TAG, told, Unit.L_MIN, Quality.GOOD, self._now_s())

    def _sign_of_life(self, incoming: Incoming) -> None:
        """What it said last still holds."""
        alive, before = envelope.parse(envelope.Availability, incoming.payload), self._readings.get(CEILING_TAG)
        if isinstance(alive, Refusal):
            self.counters.strange += 1
        elif before is not None and alive.status == "online" and not incoming.retain:
            self.counters.heard += 1
            self._readings[CEILING_TAG] = replace(before, at_s=self._now_s())


def ceiling_of(state: envelope.State, rack: str) -> float | None:
    """Return the flow that ``state`` leaves ``rack``, L/min; 0 = as much as it wants; None when it cannot be read."""
    ceilings = state.detail.get("ceilings", {})
    if not isinstance(ceilings, dict):
        return None
    mine = ceilings.get(rack)
    if mine is None:
        return 0.0
    flow = mine.get("flow_lpm") if isinstance(mine, dict) else None
    if isinstance(flow, bool) or not isinstance(flow, int | float) or not 0.0 < flow < 1e6:
        return None
    return float(flow)

"""What comes from the bus: what Valvey and the coordinator tell, what came back of our asks, and requests to us."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from fieldkit import envelope
from fieldkit.errors import Refusal
from fieldkit.inbox import Inbox
from fieldkit.mqtt_types import Incoming
from fieldkit.request import Request
from fieldkit.topics import Daemon, Kind, Topic, parse_topic, request_filter
from racky.asker import Asker
from racky.core import hearing
from racky.core.sight import DaemonTold


@dataclass(slots=True)
class HeardCounters:
    """Totals since start. ``strange``: messages that could not be believed."""

    told: int = 0
    strange: int = 0


class Hearing:
    """Takes every message of one Racky's subscriptions.

    loop   name of the coordinator; None = the rack has none
    inbox  takes requests to us
    """

    def __init__(
        self,
        site: str,
        rack: str,
        loop: str | None,
        asker: Asker,
        client: str,
        inbox: Inbox[Request],
        now_s: Callable[[], float],
    ) -> None:
        self.valvey, self.loop = DaemonTold(), DaemonTold()
        self.counters = HeardCounters()
        self.asker = asker
        self.inbox = inbox
        self._site, self._rack, self._loop, self._client, self._now_s = site, rack, loop, client, now_s
        self._boots: dict[Daemon, str] = {}

    def filters(self) -> list[str]:
        """The subscriptions that bring all of it."""
        nodes = [(self._rack, Daemon.VALVEY), *([] if self._loop is None else [(self._loop, Daemon.LOOP)])]
        told = [
            f"racky/v1/{self._site}/{node}/{daemon}/{kind}"
            for node, daemon in nodes
            for kind in ("availability", "state", "telemetry", "alarm/+")
        ]
        answers = f"racky/v1/{self._site}/{self._rack}/valvey/response/{self._client}"
        return [*told, answers, request_filter(self._site, self._rack, Daemon.RACKY)]

    def message(self, incoming: Incoming) -> None:
        """Take one message. Never raises for what is in it."""
        topic = parse_topic(incoming.topic)
        if topic is None or topic.site != self._site:
            self.counters.strange += 1
        elif topic.daemon is Daemon.RACKY:
            self.inbox.message(incoming)
        elif topic.kind is Kind.RESPONSE:
            self._response(incoming)
        elif (topic.daemon, topic.node) == (Daemon.VALVEY, self._rack):
            self.valvey = self._told(self.valvey, topic, incoming)
        elif (topic.daemon, topic.node) == (Daemon.LOOP, self._loop):
            self.loop = self._told(self.loop, topic, incoming)
        else:
            self.counters.strange += 1

    def forget_alarms(self) -> None:
        """The broker is gone: alarms that become normal meanwhile are not told, and those that stand are told again."""
        self.valvey, self.loop = replace(self.valvey, alarms={}), replace(self.loop, alarms={})

    def _response(self, incoming: Incoming) -> None:
        told = envelope.parse(envelope.Response, incoming.payload)
        if isinstance(told, Refusal) or incoming.retain:
            self.counters.strange += 1
        else:
            self.asker.heard(told, self._now_s())

    def _told(self, known: DaemonTold, topic: Topic, incoming: Incoming) -> DaemonTold:
        now_s = self._now_s()
        if topic.kind is Kind.ALARM:
            return self._alarm(known, topic.rest[0], incoming)
        if topic.kind is Kind.AVAILABILITY:
            here = envelope.parse(envelope.Availability, incoming.payload)
            if not isinstance(here, Refusal):
                self._started(topic.daemon, here)
                return self._counted(hearing.availability(known, here))
        elif topic.kind is Kind.STATE:
            state = envelope.parse(envelope.State, incoming.payload)
            if not isinstance(state, Refusal):
                return self._counted(hearing.state(known, state, now_s, self._rack))
        elif topic.kind is Kind.TELEMETRY:
            points = envelope.parse(envelope.Telemetry, incoming.payload)
            if not isinstance(points, Refusal):
                return self._counted(hearing.telemetry(known, points, now_s))
        self.counters.strange += 1
        return known

    def _alarm(self, known: DaemonTold, name: str, incoming: Incoming) -> DaemonTold:
        if not incoming.payload:
            return hearing.cleared(known, name)
        told = envelope.parse(envelope.Alarm, incoming.payload)
        if isinstance(told, Refusal) or told.id != name:
            self.counters.strange += 1
            return known
        return self._counted(hearing.alarm(known, told))

    def _counted(self, known: DaemonTold) -> DaemonTold:
        self.counters.told += 1
        return known

    def _started(self, daemon: Daemon, here: envelope.Availability) -> None:
        """Another process of Valvey's forgets what was asked of the one before."""
        life = f"{here.boot_id} {here.since_wall_s}"
        if daemon is Daemon.VALVEY and self._boots.get(daemon, life) != life:
            self.asker.forget()
        self._boots[daemon] = life

"""A daemon's way out to the broker: its topics and their deliveries, and the box that waits for a session.

What a rack's desk and a loop's desk have in common. Publishing is a put into the session's bounded box.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from fieldkit import envelope, letters
from fieldkit.alarm import AlarmState, Phase
from fieldkit.canary import Canary
from fieldkit.envelope_parts import PointMeta
from fieldkit.errors import Refusal
from fieldkit.inbox import Inbox, Named
from fieldkit.letters import Sender
from fieldkit.mqtt_types import Incoming, Settings
from fieldkit.outbox import Keep, Outbox, Outgoing, Properties
from fieldkit.topics import DELIVERIES, Kind

if TYPE_CHECKING:
    from fieldkit.mqtt import MqttSession

R = TypeVar("R", bound=Named)

JSON = Properties(content_type="application/json")


class Post:
    """Sends what one daemon tells.

    outbox               what waits for a session; each one empties it
    refused_at_the_door  called with what came and was no request
    now_s                boot time
    alarms               those that an earlier process has told
    state_seq            the present one, which every refusal names
    """

    def __init__(
        self, sender: Sender, now_s: Callable[[], float], alarms: Iterable[str], state_seq: Callable[[], int]
    ) -> None:
        self.session: MqttSession | None = None
        self.outbox = Outbox()
        self.refused_at_the_door: Callable[[str, Refusal], None] = lambda _client, _refusal: None
        self._sender, self._now_s, self._state_seq = sender, now_s, state_seq
        self._alarms_told = set(alarms)

    @property
    def connected(self) -> bool:
        return self.session is not None and self.session.status.state == "connected"

    def _inbox(self, make: Callable[..., R], safer: Iterable[str]) -> Inbox[R]:
        """The box of what this daemon is asked. On a bench a clock that nobody has set may judge a request's times too."""
        sender = self._sender
        return Inbox(
            sender.site, sender.node, sender.daemon, make=make, safer=safer, refuse=self._refuse,
            wall_s=lambda: sender.wall_of(self._now_s()), synced=lambda: sender.simulated or sender.synced(),
        )  # fmt: skip

    def _connect(
        self,
        settings: Settings,
        subscriptions: list[str],
        snapshot: Callable[[], Iterable[Outgoing]],
        on_message: Callable[[Incoming], None],
        notice: Callable[[str, dict[str, object]], None],
    ) -> "MqttSession":
        """Make the session; whoever supervises runs it."""
        from fieldkit.mqtt import MqttSession  # and the client with it, for which no rack waits unguarded

        self.session = MqttSession(
            settings,
            subscriptions=subscriptions,
            birth=lambda: self._availability("online"),
            offline=self._availability("offline"),
            snapshot=snapshot,
            on_message=on_message,
            notice=notice,
            canary=Canary(self._sender.topic(Kind.CANARY), self._canary),
            outbox=self.outbox,
        )
        return self.session

    def _availability(self, status: Literal["online", "offline"]) -> Outgoing:
        return self._outgoing(Kind.AVAILABILITY, letters.availability(self._sender, status))

    def _alarm(self, name: str, state: AlarmState | None) -> Outgoing:
        """The alarm's retained message; an empty one takes it away when it is normal."""
        self._alarms_told.add(name)
        if state is None or state.phase is Phase.NORMAL:
            return Outgoing(self._sender.topic(Kind.ALARM, name), b"", 1, True)
        return self._outgoing(Kind.ALARM, letters.alarm(self._sender, state), name)

    def _whole(
        self, points: dict[str, PointMeta], state: envelope.State, alarms: Mapping[str, AlarmState]
    ) -> Iterable[Outgoing]:
        """What a newcomer must know: meta, state, every standing alarm, and which of those told have ended."""
        yield self._outgoing(Kind.META, letters.meta(self._sender, points))
        yield self._outgoing(Kind.STATE, state)
        for name in sorted(self._alarms_told | alarms.keys()):
            yield self._alarm(name, alarms.get(name))

    def _refuse(self, client: str, refusal: Refusal, properties: Properties) -> None:
        self.refused_at_the_door(client, refusal)
        response = envelope.Response(
            simulated=self._sender.simulated,
            id=refusal.about,
            request=None,
            status=envelope.Status.REFUSED,
            wall_s=self._sender.wall_of(self._now_s()),
            state_seq=self._state_seq(),
            code=refusal.code,
            reason=refusal.reason,
            would_allow=refusal.would_allow,
        )
        self._respond(client, response, properties)

    def _respond(self, client: str, response: envelope.Response, asked: Properties | None) -> None:
        """Answer on the client's own topic, the only one that belongs to it; its correlation data comes back."""
        topic = self._sender.topic(Kind.RESPONSE, client)
        properties = Properties(
            correlation=asked.correlation if asked is not None else None, content_type="application/json"
        )
        delivery = DELIVERIES[Kind.RESPONSE]
        self._put(Outgoing(topic, envelope.dump(response), delivery.qos, delivery.retain, Keep.EVERY, properties))

    def _canary(self, number: int) -> bytes:
        sender = self._sender
        canary = envelope.Canary(simulated=sender.simulated, boot_id=sender.boot_id, seq=number, mono_s=self._now_s())
        return envelope.dump(canary)

    def _outgoing(self, kind: Kind, payload: Any, *rest: str, keep: Keep = Keep.LATEST) -> Outgoing:
        delivery = DELIVERIES[kind]
        topic = self._sender.topic(kind, *rest)
        return Outgoing(topic, envelope.dump(payload), delivery.qos, delivery.retain, keep, JSON)

    def _put(self, message: Outgoing) -> None:
        if self.session is None:
            self.outbox.put(message)
        else:
            self.session.tell_nowait(
                message.topic,
                message.payload,
                qos=message.qos,
                retain=message.retain,
                keep=message.keep,
                properties=message.properties,
            )

"""The MQTT tree ``racky/v1/{site}/{node}/{daemon}/...``: who may be named in it, and its topics."""

import re
from dataclasses import dataclass
from enum import StrEnum

_ID = re.compile(r"[a-z0-9_-]{1,64}")


class Role(StrEnum):
    """Who asks. It stands in the topic, where the broker's ACL binds it to the client's certificate."""

    OBSERVER = "observer"
    OPERATOR = "operator"
    ENGINEER = "engineer"
    SAFETY = "safety"
    SUPERVISOR = "supervisor"
    COORDINATOR = "coordinator"
    RACKY = "racky"
    INTEGRATION = "integration"


class Daemon(StrEnum):
    """Whose branch of the tree it is."""

    VALVEY = "valvey"
    RACKY = "racky"
    LOOP = "loop"


class Kind(StrEnum):
    """What a topic carries; the names of ``fieldkit.envelope.PAYLOADS``."""

    AVAILABILITY = "availability"
    STATE = "state"
    TELEMETRY = "telemetry"
    META = "meta"
    EVENT = "event"
    ALARM = "alarm"
    REQUEST = "request"
    RESPONSE = "response"
    CANARY = "canary"
    LEASE = "lease"
    GRANT = "grant"


@dataclass(frozen=True, slots=True)
class Delivery:
    """How one kind travels: its direction seen from the daemon, QoS, and whether the broker keeps the last one."""

    qos: int
    retain: bool
    inbound: bool


# fmt: off
DELIVERIES: dict[Kind, Delivery] = {
    Kind.AVAILABILITY: Delivery(1, retain=True,  inbound=False),
    Kind.STATE:        Delivery(1, retain=True,  inbound=False),
    Kind.TELEMETRY:    Delivery(0, retain=False, inbound=False),
    Kind.META:         Delivery(1, retain=True,  inbound=False),
    Kind.EVENT:        Delivery(1, retain=False, inbound=False),
    Kind.ALARM:        Delivery(1, retain=True,  inbound=False),
    Kind.REQUEST:      Delivery(1, retain=False, inbound=True),
    Kind.RESPONSE:     Delivery(1, retain=False, inbound=False),
    Kind.CANARY:       Delivery(1, retain=False, inbound=True),
    Kind.LEASE:        Delivery(1, retain=False, inbound=True),
    Kind.GRANT:        Delivery(1, retain=False, inbound=False),
}
LEVELS: dict[Kind, tuple[str, ...]] = {
    Kind.ALARM:    ("alarm id",),
    Kind.REQUEST:  ("role", "client"),
    Kind.RESPONSE: ("client",),
    Kind.LEASE:    ("rack",),
    Kind.GRANT:    ("rack",),
}
# fmt: on


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic taken apart. ``rest`` is what follows the kind: the alarm id, the client, or role and client."""

    site: str
    node: str
    daemon: Daemon
    kind: Kind
    rest: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "/".join(("racky", "v1", self.site, self.node, self.daemon, self.kind, *self.rest))

    @property
    def role(self) -> Role | None:
        """Who asks, of a request topic."""
        return Role(self.rest[0]) if self.kind is Kind.REQUEST else None


def check_id(name: str, what: str) -> str:
    """Return ``name``. Raises ValueError when it may not stand in a topic (NATS refuses dots and spaces)."""
    if _ID.fullmatch(name) is None:
        raise ValueError(f"{what} {name!r} is no id: allowed are 1..64 of a-z, 0-9, _ and -")
    return name


def topic(site: str, node: str, daemon: Daemon, kind: Kind, *rest: str) -> Topic:
    """Return one topic. Raises ValueError naming the part that is wrong or missing."""
    levels = LEVELS.get(kind, ())
    if len(rest) != len(levels):
        raise ValueError(f"a {kind} topic ends in {' and '.join(levels) or 'its kind'}, not in {len(rest)} levels")
    check_id(site, "site")
    check_id(node, "node")
    for name, what in zip(rest, levels, strict=True):
        check_id(name, what)
    if kind is Kind.REQUEST and rest[0] not in set(Role):
        raise ValueError(f"no role {rest[0]!r}: allowed {', '.join(Role)}")
    return Topic(site, node, daemon, kind, rest)


def parse_topic(name: str) -> Topic | None:
    """Return ``name`` taken apart, None when it is not a topic of this tree."""
    parts = name.split("/")
    if len(parts) < 6 or parts[:2] != ["racky", "v1"] or parts[4] not in set(Daemon) or parts[5] not in set(Kind):
        return None
    try:
        return topic(parts[2], parts[3], Daemon(parts[4]), Kind(parts[5]), *parts[6:])
    except ValueError:
        return None


def request_filter(site: str, node: str, daemon: Daemon) -> str:
    """Return the subscription that brings every role's and client's requests to one daemon."""
    base = topic(site, node, daemon, Kind.STATE)
    return f"racky/v1/{base.site}/{base.node}/{base.daemon}/request/+/+"

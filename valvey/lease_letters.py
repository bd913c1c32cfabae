"""A rack's leases on the bus: where they are asked for and answered, and the payloads of ``valvey.core.leasing``."""

from fieldkit import envelope
from fieldkit.errors import Refusal
from fieldkit.letters import line
from fieldkit.mqtt_types import Incoming
from fieldkit.topics import Daemon, Kind, topic
from valvey.core.leasing import Answer, Ask

MOST_TTL_S, MOST_EPOCH = 600.0, 2**53
"""Beyond these an answer is nonsense: a lease for ever, an epoch that no other can exceed."""
MOST_ID = 64


def ask_topic(site: str, loop: str, rack: str) -> str:
    """Where ``rack`` asks its loop's coordinator: QoS 1, never retained."""
    return str(topic(site, loop, Daemon.LOOP, Kind.LEASE, rack))


def answer_topic(site: str, loop: str, rack: str) -> str:
    """Where the coordinator answers ``rack``; subscribed with the rack's own request topics."""
    return str(topic(site, loop, Daemon.LOOP, Kind.GRANT, rack))


def letter(ask: Ask, simulated: bool) -> envelope.Lease:
    """Return ``ask`` as it goes on the bus."""
    return envelope.Lease(
        simulated=simulated,
        ask_id=ask.ask_id,
        act=ask.act.value,
        work=ask.work,
        grant_id=ask.grant_id,
        epoch=ask.epoch,
        args=dict(ask.args),
    )


def answer_in(incoming: Incoming) -> Answer | None:
    """Return the coordinator's answer in a message of ``answer_topic``; None for what is none, or is retained."""
    told = envelope.parse(envelope.Grant, incoming.payload)
    if isinstance(told, Refusal) or incoming.retain or incoming.too_long:
        return None
    named = told.id is None or (len(told.id) <= MOST_ID and told.id.isprintable())
    if not named or told.ttl_s > MOST_TTL_S or told.epoch > MOST_EPOCH:
        return None
    return Answer(
        told.ask_id,
        told.granted,
        told.id,
        told.epoch,
        told.ttl_s,
        told.work,
        line(told.reason or ""),
        line(told.would_allow or ""),
    )

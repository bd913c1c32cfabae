"""From the coordinator's data to the payloads of contract 1. Nothing is sent here."""

from collections.abc import Mapping

from pydantic import JsonValue

from fieldkit import envelope, letters
from fieldkit.envelope_parts import GrantHeld, Latch, PointMeta
from fieldkit.letters import Sender, line, plain
from fieldkit.reading import Reading
from fieldkit.tag import BY_TAG
from fieldkit.topics import Daemon, Kind, Role, topic
from valvey.core.loop.asking import RackRequest
from valvey.core.loop.facts import LoopFact, LoopFactKind
from valvey.core.loop.leases import Reply
from valvey.core.loop.limits import LoopLimits
from valvey.core.loop.memory import LoopMemory
from valvey.core.loop.model import capacity_lpm
from valvey.core.loop.sharing import power_cap_kw
from valvey.core.loop.step import state_of
from valvey.loop.config import LoopConfig


def state(sender: Sender, memory: LoopMemory, limits: LoopLimits, since_s: float, others: bool) -> envelope.State:
    """The coordinator as it stands. ``detail.ceilings`` is what each rack may take while flow is short."""
    wall, now_s = sender.wall_of, memory.now_s
    left_s = {rack: max(0.0, held.replied_s + limits.ttl_s - now_s) for rack, held in memory.leases.items()}
    ceilings: dict[str, JsonValue] = {
        rack: {"flow_lpm": round(flow, 1), "power_kw": round(power_cap_kw(flow), 1)}
        for rack, flow in memory.ceilings.items()
    }
    capacity = capacity_lpm(limits, memory.droop)
    return envelope.State(
        simulated=sender.simulated,
        boot_id=sender.boot_id,
        wall_s=wall(now_s),
        state=str(state_of(memory, limits, others)),
        step=None,
        since_wall_s=wall(since_s),
        state_seq=memory.state_seq,
        latches=tuple(
            Latch(sif=one.name, since_wall_s=wall(one.at_s), cause=line(one.cause)) for one in memory.latches
        ),
        locks=(),
        bypasses=(),
        armed=limits.armed,
        inventory=None,
        tested=None,
        grants=tuple(
            GrantHeld(id=held.id, epoch=held.epoch, work=held.work, left_s=round(left_s[rack], 1))
            for rack, held in memory.leases.items()
        ),
        config_digest=sender.config_digest,
        detail={
            "epoch": memory.epoch,
            "leases": {rack: {"work": held.work, "id": held.id} for rack, held in memory.leases.items()},
            "short": memory.short,
            "ceilings": ceilings,
            "capacity_lpm": None if capacity is None else round(capacity),
            "racks": list(limits.racks),
            "asked": {rack: one.request for rack, one in memory.asked_of.items()},
            "holding": plain(frozenset() if memory.hold is None else frozenset(memory.hold.flows)),
            "sumps_l": {name: round(litres, 1) for name, litres in memory.sumps_l.items()},
        },
    )


def telemetry(
    sender: Sender, readings: Mapping[str, Reading], limits: LoopLimits, now_s: float, seq: int
) -> envelope.Telemetry:
    """One snapshot of the CDU's points."""
    return letters.telemetry(sender, readings, lambda _tag: limits.max_age_s, now_s, seq)


def event(sender: Sender, fact: LoopFact, seq: int) -> envelope.Event:
    return letters.event(sender, fact.kind, fact.at_s, fact.fields, seq)


def grant(sender: Sender, reply: Reply) -> envelope.Grant:
    return envelope.Grant(
        simulated=sender.simulated,
        ask_id=reply.ask_id,
        granted=reply.granted,
        id=reply.id,
        epoch=reply.epoch,
        ttl_s=reply.ttl_s,
        work=reply.work,
        reason=reply.reason or None,
        would_allow=reply.would_allow or None,
    )


def response(sender: Sender, fact: LoopFact, state_seq: int) -> envelope.Response:
    """What a client is told of an ANSWER or ENDED fact. Nearly all that people ask of a coordinator is done at once."""
    fields = fact.fields
    if fact.kind is LoopFactKind.ENDED:
        return envelope.Response(
            simulated=sender.simulated,
            id=fields["id"],
            request=fields["request"],
            status=envelope.Status(fields["status"]),
            wall_s=sender.wall_of(fact.at_s),
            state_seq=state_seq,
            reason=fields["reason"] or None,
            proof={"took_s": fields["took_s"]},
        )
    done = fields["status"] == "succeeded"
    proof = {name: plain(value) for name, value in fields["proof"].items()}
    status = envelope.Status(fields["status"])
    refused = status is envelope.Status.REFUSED
    return envelope.Response(
        simulated=sender.simulated,
        id=fields["id"],
        request=fields["request"],
        status=status,
        wall_s=sender.wall_of(fact.at_s),
        state_seq=state_seq,
        code=fields["code"],
        reason=fields["reason"] if refused else None,
        would_allow=fields["allow"] or "nothing" if refused else None,
        proof=proof if done else None,
    )


def rack_request(sender: Sender, client: str, asked: RackRequest, request_id: str) -> tuple[str, envelope.Request]:
    """One request to a rack, and where it is sent. Of trip class: the rack's file says whether a coordinator's counts."""
    where = topic(sender.site, asked.rack, Daemon.VALVEY, Kind.REQUEST, Role.COORDINATOR, client)
    request = envelope.Request(
        v=1, id=request_id, request=asked.request, args={"trip": True}, by=sender.node, why=line(asked.why)
    )
    return str(where), request


def metas(config: LoopConfig, limits: LoopLimits) -> dict[str, PointMeta]:
    """Return what each point of the CDU is."""
    shown = {
        "PT-202": {"LL": limits.static_ll_kpa},
        "TT-201": {"H": limits.supply_h_c},
        "LT-201": {"L": limits.level_l_pct},
    }
    out = {}
    for tag, name in config.tags.items():
        point, row = config.profile.points[name], BY_TAG.get(tag)
        out[tag] = PointMeta(
            unit=point.reading_unit,
            range=point.range if point.range is not None else (0.0, 1.0),
            limits=shown.get(tag, {}),
            profile=config.profile.profile,
            point=name,
            description="" if row is None else row.description,
            verified=point.verified,
        )
    return out

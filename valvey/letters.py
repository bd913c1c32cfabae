"""From the core's data to the payloads of contract 1. Nothing is sent here."""

from collections.abc import Mapping
from math import inf, log

from pydantic import JsonValue

from fieldkit import answers, envelope, letters
from fieldkit.envelope_parts import Bypass, GrantHeld, Latch, Lock
from fieldkit.letters import Sender, line
from fieldkit.reading import Reading
from valvey.core.chart import OUTPUTS
from valvey.core.facts import Fact
from valvey.core.flow_state import Bound
from valvey.core.gate import Outputs
from valvey.core.leasing import left_s
from valvey.core.limits import Limits
from valvey.core.memory import Memory
from valvey.core.requests import REQUESTS


def state(sender: Sender, memory: Memory) -> envelope.State:
    """The machine as ``memory`` has it."""
    wall = sender.wall_of
    return envelope.State(
        simulated=sender.simulated,
        boot_id=sender.boot_id,
        wall_s=wall(memory.now_s),
        state=memory.state,
        step=memory.step,
        since_wall_s=wall(memory.since_s),
        state_seq=memory.state_seq,
        latches=tuple(
            Latch(
                sif=one.sif, since_wall_s=wall(one.at_s), cause=f"{one.row}: {cause_of(one.tag, one.value, one.limit)}"
            )
            for one in memory.latches
        ),
        locks=tuple(
            Lock(owner=line(one.owner), why=line(one.why), since_wall_s=wall(one.since_s)) for one in memory.locks
        ),
        bypasses=tuple(
            Bypass(what=one.name, by=line(one.by), why=line(one.why), until_wall_s=wall(one.until_s))
            for one in memory.bypasses
        ),
        armed=memory.armed,
        inventory=memory.inventory.value,
        tested=memory.tested,
        grants=grants(memory),
        config_digest=sender.config_digest,
        detail={
            "first_out": memory.latches[0].sif if memory.latches else None,
            "demand": demand(memory),
            "emergency": memory.emergency,
            "isolate_wanted": memory.isolate_wanted,
            "uncoordinated": memory.uncoordinated,
            "lease": lease(memory),
            "power_cap": list(memory.power_cap),
            "would_trip": list(memory.would_trip),
            "pending": [{"id": one.id, "request": one.request} for one in memory.pending],
            "memory_readable": memory.readable,
            "failed": memory.failed,
            "litres": None if memory.work is None else round(memory.work.litres, 2),
            "flow": flow_detail(memory),
            "stroke": None
            if memory.stroke is None
            else {"valve": f"XV-{memory.stroke.valve}", "outcome": memory.stroke.outcome},
        },
    )


def demand(memory: Memory) -> dict[str, JsonValue] | None:
    """What is demanded of each output now, null while nothing is written. What became of it is in the telemetry: XY coil, ZSO and ZSC limits."""
    one = OUTPUTS[memory.state, memory.step] if memory.armed else None
    if one is None:
        return None
    outputs = Outputs(one.xs_101, one.xv_101, one.xv_102, one.xv_103, one.xv_104)
    return {tag: bool(value) for tag, value in outputs.items() if value is not None}


def flow_detail(memory: Memory) -> JsonValue:
    """What the flow control is asked for, wants and gets, and what limits it; null while it has not FCV-101."""
    steering = memory.steering
    if steering is None or not steering.active:
        return None
    control, flow, ceiling = steering.control, steering.flow_lpm, steering.ceiling
    return {
        "mode": str(control.mode),
        "asked": control.asked,
        "setpoint_lpm": round(control.demand.setpoint_lpm, 1),
        "flow_lpm": None if flow is None else round(flow, 1),
        "fcv_pct": round(control.command_pct, 1),
        "limited_by": None if steering.bound is None else str(steering.bound),
        "ceiling_lpm": None if ceiling is None else round(ceiling.flow_lpm, 1),
        "kv_branch_m3_h": round(control.learned.kv_rest_m3_h, 2),
        "header": str(control.header.source),
        "hunting": control.hunt.events,
    }


def flow_key(memory: Memory) -> tuple[object, ...]:
    """What of the flow control is worth a state message of its own; the set-point in steps of about 5 %."""
    steering = memory.steering
    if steering is None or not steering.active:
        return ()
    control = steering.control
    step = round(20.0 * log(max(1.0, control.demand.setpoint_lpm)))
    bound = steering.bound if steering.bound in {Bound.CEILING, Bound.VALVE, Bound.HUNTING} else None
    return (control.mode, control.asked, bound, steering.ceiling is None, control.hunt.events, step)


def grants(memory: Memory) -> tuple[GrantHeld, ...]:
    """The lease that the rack holds, as a coordinator that starts anew has to know it."""
    now = memory.leasing
    if memory.grant is None:
        return ()
    left = round(left_s(now, memory.now_s), 1)
    return (GrantHeld(id=memory.grant, epoch=now.epoch, work=now.work or "", left_s=left),)


def lease(memory: Memory) -> dict[str, JsonValue]:
    """What leave is wanted for, why it was refused last, the highest epoch ever seen, and the request that waits for it."""
    now, one = memory.leasing, memory.waiting
    return {
        "wanted": now.work,
        "epoch": now.epoch,
        "refused": None if now.refusal is None else now.refusal[0],
        "waiting": None if one is None else {"id": one.id, "request": one.name},
    }


def cause_of(tag: str, value: float | None, limit: float | None) -> str:
    """What a latch has seen, for people."""
    text = tag or "no reading"
    if value is not None:
        text += f" {value:.6g}"
    return text if limit is None else f"{text} (limit {limit:.6g})"


def telemetry(
    sender: Sender, readings: Mapping[str, Reading], limits: Limits, now_s: float, seq: int
) -> envelope.Telemetry:
    """One snapshot of all points."""
    ages = limits.max_age_s
    return letters.telemetry(sender, readings, lambda tag: ages.get(tag, inf), now_s, seq)


def event(sender: Sender, fact: Fact, seq: int) -> envelope.Event:
    return letters.event(sender, fact.kind, fact.at_s, fact.fields, seq)


def responses(sender: Sender, fact: Fact, pending: bool) -> list[envelope.Response]:
    """What a client is told of an ANSWER, PROGRESS or ENDED fact. ``pending``: its end is still to come."""
    row = REQUESTS.get(str(fact.fields["request"]))
    at_once = row is not None and not row.goal
    return answers.responses(sender, fact.kind, fact.at_s, fact.fields, pending=pending, at_once=at_once)

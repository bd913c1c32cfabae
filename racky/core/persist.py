"""Racky's memory as plain data and back, with a format number, and what a start makes of it.

Tolerant: a field that is missing is as in a new memory, one that is not known any more is dropped, an alarm without a
row too. What has another shape raises ValueError: the caller then starts as from an unreadable memory.
"""

from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter

from fieldkit import alarm, memory_form
from racky.core import lifecycle
from racky.core.alarms import BY_NAME
from racky.core.memory import FORMAT, Memory, Phase

_MEMORY = TypeAdapter(Memory)


def to_dict(memory: Memory) -> dict[str, Any]:
    """Return ``memory`` as plain data."""
    return memory_form.plain(_MEMORY, memory)


def from_dict(document: Any) -> Memory:
    """Return the memory that ``to_dict`` wrote. Raises ValueError."""
    fields, _ = memory_form.opened(document, FORMAT)
    known = {name: value for name, value in fields.items() if name in Memory.__slots__}
    return memory_form.believed(_MEMORY, known, FORMAT, BY_NAME.get)


def begin(memory: Memory, *, boot_id: str, now_s: float, readable: bool = True) -> Memory:
    """Return what a start makes of ``memory``: the outputs are looked at before any is written.

    A new boot's clock starts again: times of the last one become ages. A trip stands.
    """
    shift_s = 0.0 if memory.boot_id == boot_id else now_s - memory.now_s
    memory = rebased(memory, shift_s)
    power = memory.power
    if power.phase is not Phase.TRIPPED:
        was = power.phase if power.phase is not Phase.UNKNOWN else power.was
        power = replace(power, phase=Phase.UNKNOWN, was=was, since_s=now_s, why="started")
    power = replace(power, said_s={}, over_s=None, room_s=None, allowed_s=None, zero_s=None)
    life = lifecycle.restarted(memory.life, now_s)
    return replace(
        memory, boot_id=boot_id, now_s=now_s, readable=readable, state_seq=memory.state_seq + 1, power=power, life=life
    )  # fmt: skip


def rebased(memory: Memory, shift_s: float) -> Memory:
    """Return ``memory`` with all its times moved: from the clock of the last boot to this one's."""
    power, now = memory.power, memory.maintenance
    cap = power.cap
    if cap is not None:
        until_s = None if cap.until_s is None else cap.until_s + shift_s
        cap = replace(cap, since_s=cap.since_s + shift_s, until_s=until_s)
    pretrip = {
        row: replace(one, asked_s=one.asked_s + shift_s, cut_s=one.cut_s + shift_s)
        for row, one in power.pretrip.items()
    }
    asked_s = {tag: at_s + shift_s for tag, at_s in power.asked_s.items()}
    power = replace(power, cap=cap, pretrip=pretrip, asked_s=asked_s, shed_s=power.shed_s + shift_s)
    if now is not None:
        now = replace(now, since_s=now.since_s + shift_s, until_s=now.until_s + shift_s)
    return replace(
        memory,
        power=power,
        maintenance=now,
        since_s={name: at_s + shift_s for name, at_s in memory.since_s.items()},
        trays={name: replace(one, until_s=one.until_s + shift_s, said_s=None) for name, one in memory.trays.items()},
        pending=tuple(replace(one, since_s=one.since_s + shift_s) for one in memory.pending),
        alarms={name: alarm.rebased(state, shift_s) for name, state in memory.alarms.items()},
        life=lifecycle.rebased(memory.life, shift_s),
    )

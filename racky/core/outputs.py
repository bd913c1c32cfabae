"""Outputs: what is demanded of each shelf, what its feedback shows, when it is written again."""

from collections.abc import Mapping
from dataclasses import replace

from racky.core.facts import Fact, FactKind
from racky.core.memory import Phase
from racky.core.view import View

AGAIN_S = 1.0
"""An output that has not obeyed is written again after this."""


def demanded(view: View, changes: Mapping[str, bool], why: str) -> tuple[View, list[Fact]]:
    """Return the view with these demands; a fact for each that is new."""
    power, now_s = view.power, view.now_s
    new = {tag: on for tag, on in changes.items() if power.demand.get(tag) is not on}
    power = replace(
        power,
        demand={**power.demand, **new},
        asked_s={**power.asked_s, **dict.fromkeys(new, now_s)},
        said_s={tag: said_s for tag, said_s in power.said_s.items() if tag not in new},
        late=power.late - new.keys(),
    )
    facts = [Fact(FactKind.OUTPUT, now_s, {"output": tag, "on": on, "why": why}) for tag, on in new.items()]
    return view.powered(power), facts


def entered(view: View, phase: Phase, why: str) -> tuple[View, list[Fact]]:
    """Return the view in another phase of its power."""
    power = replace(view.power, phase=phase, since_s=view.now_s, why=why, allowed_s=None)
    memory = replace(view.memory, power=power, state_seq=view.memory.state_seq + 1)
    return replace(view, memory=memory), [Fact(FactKind.POWER, view.now_s, {"phase": phase, "why": why})]


def obeys(view: View, command: str) -> bool | None:
    """Whether an output shows what is demanded of it; None when its feedback cannot be believed or nothing is demanded."""
    wanted, shown = view.power.demand.get(command), view.sight.on(feedback_of(command))
    return None if wanted is None or shown is None else shown is wanted


def feedback_of(command: str) -> str:
    return command.replace("XS-", "XI-")


def overdue(view: View, command: str) -> bool:
    """Whether an output has had its time to obey."""
    return view.now_s - view.power.asked_s[command] >= view.setup.output_s


def written(view: View) -> tuple[View, dict[str, float]]:
    """Return what is to be written now.

    What obeys is left alone. An off is written again until it is obeyed; an on only within its time: a shelf that
    switched itself off, or that somebody switched off by hand, is told of and never fought.
    """
    power, now_s = view.power, view.now_s
    late, writes = set(power.late), dict[str, float]()
    for command, on in power.demand.items():
        if obeys(view, command) is True:
            late.discard(command)
            continue
        if overdue(view, command):
            late.add(command)
            if on:
                continue
        if now_s - power.said_s.get(command, -AGAIN_S) >= AGAIN_S:
            writes[command] = float(on)
    said_s = {**power.said_s, **dict.fromkeys(writes, now_s)}
    power = replace(power, said_s=said_s, late=frozenset(late))
    return view.powered(power), writes

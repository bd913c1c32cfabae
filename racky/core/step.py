"""One step of Racky: judge, answer, cap, sequence, tell. Pure; the order is the documentation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from fieldkit.request import Request
from racky.core import alarms, answering, evidence, health, lifecycle, power
from racky.core.ask import Ask
from racky.core.causes import Health
from racky.core.facts import Fact
from racky.core.life import Wanted
from racky.core.lifecycle_progress import Progress, progress
from racky.core.memory import Memory
from racky.core.setup import Setup
from racky.core.sight import Sight
from racky.core.view import View


@dataclass(frozen=True, slots=True)
class Scan:
    """What one step decided.

    asks    what is asked of the rack's Valvey
    writes  output commands by tag, 1.0 = on; what is not in it is left as it is. Empty while disarmed
    held    what would be written by an armed Racky
    wanted  registers of devices that are updated, and the site's commands that shall run, for the lifecycle
    progress  how far a run of the lifecycle is on its way
    """

    memory: Memory
    health: Health
    asks: tuple[Ask, ...] = ()
    writes: Mapping[str, float] = field(default_factory=dict)
    facts: tuple[Fact, ...] = ()
    held: Mapping[str, float] = field(default_factory=dict)
    wanted: Wanted = field(default_factory=Wanted)
    progress: Progress | None = None


def step(memory: Memory, sight: Sight, requests: Sequence[Request], setup: Setup, now_s: float) -> Scan:
    """Decide one step. ``now_s``: boot-time seconds, the same as ``sight.now_s``."""
    sight = replace(sight, now_s=now_s)
    view = View(sight, replace(memory, now_s=now_s), setup)

    found, view, facts = health.judge(view)
    view = replace(view, health=found)
    view, told = power.trip(view)
    facts += told
    view, told = answering.expire(view)
    facts += told
    for request in requests:
        view, told = answering.answer(view, request)
        facts += told
    lived = lifecycle.advance(view)
    view, facts = lived.view, [*facts, *lived.facts]
    view, asks = evidence.forward(view)
    view, writes, told = power.advance(view)
    facts += told
    view, told = answering.look(view)
    facts += told
    view, told = alarms.advance(view)
    facts += told
    passed = writes if setup.armed else {}
    held = {} if setup.armed else writes
    return Scan(view.memory, found, (*asks, *lived.asks), passed, tuple(facts), held, lived.wanted, progress(view))

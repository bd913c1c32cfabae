"""Act 2: r03 is taken out of service, drained, filled, tested and returned while its neighbours run a training-like load.

All of it by requests at the rack's own door; the loop's coordinator grants each. What the rack's scheduler would do, the
demo does: it takes the job off when the rack unloads, and puts it back when the rack is in service again.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench.demo.asking import Asker
from bench.demo.listener import Listener
from bench.demo.outcome import Outcome
from bench.demo.sampling import Sampler
from bench.demo.screen import Screen
from bench.demo.service_report import BEFORE_S, LOW_SHARE, PERIODS_S, RACK, Course, Mark, outcome_of
from bench.demo.stage import Stage

OWNER = "demo"
SETTLE_S, AFTER_S = 300.0, 60.0
"""Simulated seconds: the racks trim their flow to the temperature rise of a load that swings, up to a fifth of it."""
EVERY_S = 0.5
BEGUN = frozenset({"UNLOADING"})


@dataclass(frozen=True, slots=True)
class Part:
    """One request of the service: who asks, with what, and how long it may take (simulated seconds)."""

    request: str
    why: str
    within_s: float
    args: dict[str, Any]


# fmt: off
PARTS = (
    Part("isolate", "cold plates of r03 are to be exchanged",  900.0, {}),
    Part("lock",    "people are at the rack",                   30.0, {"owner": OWNER}),
    Part("drain",   "the loop is to be opened",               1800.0, {}),
    Part("unlock",  "the rack is whole again",                  30.0, {"owner": OWNER}),
    Part("fill",    "the cold plates are exchanged",          1800.0, {}),
    Part("open",    "tested; back to work",                    600.0, {}),
)
# fmt: on


async def play(stage: Stage, bus: Listener, screen: Screen) -> Outcome:
    """Play the act."""
    say = screen.say
    racks = ", ".join(
        f"{name} {stage.rack(name).rated_kw:.0f}/{LOW_SHARE * stage.rack(name).rated_kw:.0f} kW every {period / 2:g} s"
        for name, period in PERIODS_S.items()
    )
    say(f"loads: {RACK} {stage.rack(RACK).rated_kw:.0f} kW; training jobs in {racks}")
    stage.ask("load", rack=RACK, kw=stage.rack(RACK).rated_kw)
    for name, period_s in PERIODS_S.items():
        kw = stage.rack(name).rated_kw
        stage.ask("load", rack=name, kw=kw, low_kw=LOW_SHARE * kw, period_s=period_s)
    async with Sampler(stage, bus, EVERY_S) as sampler:
        begin_s = sampler.now_s
        say(f"{SETTLE_S + BEFORE_S:.0f} s for the racks to settle, then what their flow is like is measured")
        await sampler.until(begin_s + SETTLE_S + BEFORE_S)
        mark = Mark.of(bus)
        start_s = sampler.now_s
        asker = Asker(bus, stage.options.speed, lambda: sampler.now_s, screen.progress)
        job = asyncio.create_task(_schedule(stage, bus, RACK))
        try:
            for part in PARTS:
                say(f'{RACK}  is asked to {part.request}: "{part.why}"')
                done = await asker.ask(RACK, part.request, part.why, within_s=part.within_s, **part.args)
                told = "" if done.ok or done.reason is None else f": {done.reason}"
                say(
                    f"{RACK}  {part.request} {done.status} after {done.took_s:.0f} s{told}",
                    "bold" if done.ok else "red",
                )
                if not done.ok:
                    break
            end_s = sampler.now_s
            await sampler.until(end_s + AFTER_S)
        finally:
            job.cancel()
            await asyncio.gather(job, return_exceptions=True)
    return outcome_of(Course(stage, bus, sampler.samples, asker.ended, mark, begin_s, start_s, len(PARTS)))


async def _schedule(stage: Stage, bus: Listener, rack: str) -> None:
    """What the scheduler and Racky do: no job on a rack that unloads, the job back once it is in service again."""
    kw, there = stage.rack(rack).rated_kw, True
    while True:
        state = bus.racks[rack].state.get("state")
        if there and state in BEGUN:
            await asyncio.to_thread(stage.ask, "load", rack=rack, kw=0.0)
            there = False
        elif not there and state == "FLOWING":
            await asyncio.to_thread(stage.ask, "load", rack=rack, kw=kw)
            there = True
        await bus.wait_for(_changed(bus, rack, state), 1.0)


def _changed(bus: Listener, rack: str, was: str | None) -> Callable[[], bool]:
    return lambda: bus.racks[rack].state.get("state") != was

"""Act 4: r05 is racked, proven by its Racky and admitted; r06, whose hose is weak, is refused by a gate.

The demo does what people do: it racks the newcomer, arms its Valvey and asks its Racky for the admission. All else -
updating, filling, testing, opening, powering, burning in, judging - Racky does, and asks Valvey for what opens.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from bench.demo.admission_report import AFTER_S, Course, Place, outcome_of
from bench.demo.asking import Asker, Progress
from bench.demo.listener import Listener
from bench.demo.newcomers import BURN_IN, IN_SERVICE_LOAD, WEAK
from bench.demo.outcome import Outcome
from bench.demo.sampling import Sampler
from bench.demo.screen import Screen
from bench.demo.site import LOOP
from bench.demo.stage import Stage, StageError, set_up
from fieldkit.topics import Daemon
from firmware_sim.plant_config import RackConfig

EVERY_S = 1.0
SETTLE_S, LONGEST_S = 60.0, 2400.0
"""Simulated seconds: the racks in service before anything is done, and the longest that one admission may take."""
THERE_S = 20.0
"""Real seconds for a newcomer's processes to be heard."""
ENDS = frozenset({"PRODUCTION", "QUARANTINED"})
_SAYS = {
    "IDENTIFIED": "every device is the one that was ordered",
    "FIRMWARE": "devices that are behind the manifest are updated, one at a time, without power",
    "COOLING": "Valvey is asked to fill it, to test its pressure and its valves, and to open it",
    "POWER": "its shelves are switched on in sequence",
    "VALIDATION": "burn-in, watched by thermal gates",
    "PRODUCTION": "every gate passed: admitted",
    "QUARANTINED": "refused",
}


async def play(stage: Stage, bus: Listener, screen: Screen) -> Outcome:
    """Play the act."""
    say, known, courses = screen.say, list(stage.racks), list[Course]()
    say(f"in service at {100 * IN_SERVICE_LOAD:.0f} % load: {', '.join(rack.name for rack in stage.racks)}")
    async with Sampler(stage, bus, EVERY_S) as sampler:
        await sampler.until(sampler.now_s + SETTLE_S)
        mark = {rack.name: len(bus.racks[rack.name].facts("trip")) for rack in stage.racks}
        begin_s = sampler.now_s
        for rack in stage.newcomers:
            known.append(rack)
            one = _Newcomer(stage, bus, screen, sampler, rack, Course(rack.name, sampler.now_s))
            courses.append(one.course)
            if not await one.racked(known):
                break
            await one.proven()
            if one.course.state == "PRODUCTION":
                say(f"{rack.name}  gets a job of {rack.rated_kw:.0f} kW", "green")
                await asyncio.to_thread(stage.ask, "load", rack=rack.name, kw=rack.rated_kw)
                await sampler.until(sampler.now_s + AFTER_S)
    trips = {name: len(bus.racks[name].facts("trip")) - before for name, before in mark.items()}
    return outcome_of(stage, sampler.samples, courses, trips, begin_s)


@dataclass
class _Newcomer:
    """One rack on its way."""

    stage: Stage
    bus: Listener
    screen: Screen
    sampler: Sampler
    rack: RackConfig
    course: Course
    _asker: Asker = field(init=False)

    def __post_init__(self) -> None:
        self._asker = Asker(self.bus, self.stage.options.speed, lambda: self.sampler.now_s, self.screen.progress)

    async def racked(self, known: list[RackConfig]) -> bool:
        """Connect it, let the loop know it, and arm its Valvey; whether that was done."""
        name = self.rack.name
        secret = "and with a hose that is weak, which nobody knows" if name == WEAK else "and one firmware behind"
        self.screen.say(f"{name}  is racked: dry, shut, its shelves off {secret}")
        loop = self.bus.loops[LOOP].state.get("boot_id"), self.bus.loops[LOOP].state.get("config_digest")
        await asyncio.to_thread(set_up, self.stage, self.rack, known)

        def there() -> bool:
            bus = self.bus
            coordinator = bus.loops[LOOP].state
            renewed = (coordinator.get("boot_id"), coordinator.get("config_digest")) != loop
            return renewed and all(name in nodes and nodes[name].state != {} for nodes in (bus.racks, bus.rackies))

        if not await self.bus.wait_for(there, THERE_S):
            children = self.stage.children
            log = children.tail((children.ended() or [f"valvey-{name}"])[0])
            raise StageError(f"{name} is not heard; ended: {children.ended() or 'none'}\n{log}")
        self.screen.say(f"{name}  is on the loop: its Valvey, its Racky and the coordinator know of each other")
        return await self._ask("arm", "the rack is racked and connected", Daemon.VALVEY)

    async def proven(self) -> None:
        """Ask for the admission, and follow it to its end."""
        if not await self._until(frozenset({"IDENTIFIED", *ENDS}), 120.0) or self.course.state in ENDS:
            return
        if not await self._ask("admit", "a new rack is to be proven", Daemon.RACKY):
            return
        await self._until(ENDS, LONGEST_S)
        self.screen.progress(None)
        self.course.ended_s = self.sampler.now_s
        for gate in self.course.report:
            if not gate["ok"]:
                self.screen.say(f"{self.rack.name}  gate '{gate['gate']}': {gate['text']}: {gate['detail']}", "red")

    async def _ask(self, request: str, why: str, daemon: Daemon) -> bool:
        name = self.rack.name
        done = await self._asker.ask(name, request, why, role="engineer", daemon=daemon, within_s=120.0)
        told = "" if done.reason is None else f": {done.reason}"
        self.screen.say(
            f'{name}  an engineer asks to {request}: "{why}"; {done.status}{told}', "bold" if done.ok else "red"
        )
        return done.ok

    async def _until(self, ends: frozenset[str], within_s: float) -> bool:
        """Follow the lifecycle into one of ``ends``; whether it came there within so many simulated seconds."""
        until_s = self.sampler.now_s + within_s
        while self.sampler.now_s < until_s:
            life = self._life()
            if life:
                self._note(life)
            if self.course.state in ends:
                return True
            await self.bus.wait_for(lambda seen=life: self._life() != seen, 0.5)  # type: ignore[misc]
        self.screen.say(f"{self.rack.name}  did not come further within {within_s:g} s", "red")
        return False

    def _life(self) -> dict[str, Any]:
        life: dict[str, Any] = self.bus.rackies[self.rack.name].state.get("detail", {}).get("lifecycle") or {}
        return life

    def _note(self, life: dict[str, Any]) -> None:
        course, name = self.course, self.rack.name
        state, step = str(life["state"]), str(life["step"])
        if state != course.state and state in _SAYS:
            style = {"PRODUCTION": "bold green", "QUARANTINED": "bold red"}.get(state, "bold")
            kw = f", {BURN_IN * self.rack.rated_kw:.0f} kW" if state == "VALIDATION" else ""
            self.screen.say(f"{name}  {state}: {_SAYS[state]}{kw}", style)
        if (state, step) != course.at:
            course.places.append(Place(self.sampler.now_s, state, step))
        course.report = life["report"]
        progress = life["progress"]
        if progress is not None:
            remark = life["remark"] if self.screen.console.is_terminal else ""  # in a file each would be a line
            where = f"{state} {step}" + (f" ({remark})" if remark else "")
            self.screen.progress(Progress(name, "admission", where, progress["percent"], progress["eta_s"]))

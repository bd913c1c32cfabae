"""Plays the demo: ``python -m bench.demo [--act 1|2|3|4|all] [--mode constant_dp] [--seed 1] [--speed n] [--mqtt host:port] [--keep]``."""

import asyncio
import contextlib
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aiomqtt
from rich.console import Console

from bench.demo.acts import Act
from bench.demo.broker import NoBrokerError
from bench.demo.claims import DURATION_S, STARTUP_S, Claim
from bench.demo.listener import Listener
from bench.demo.options import Options, parse
from bench.demo.outcome import Outcome
from bench.demo.report import claim_table, table_of, write_reports
from bench.demo.screen import Screen, rack_table
from bench.demo.site import LOOP, SITE
from bench.demo.stage import Stage, StageError, set_stage, start_rackies
from firmware_sim.client import ControlError

BANNER = "SIMULATED - four racks on one CDU, one Valvey each, real Modbus TCP, real MQTT"
RACKIES_S = 15.0
"""Longest wait for the Rackies: an act is about the coolant, and goes on without them."""
HURRIED_SCAN_S = 0.05
"""Scan of a Valvey whose time is hurried, in its own seconds: the slowest that is allowed."""
_TOLD: dict[str, Callable[[dict[str, Any]], str]] = {
    "trip": lambda f: (
        f"TRIP {f['sif']} ({f['title']}): {f['tag']} = {f['value']}, held {f['held_s']:.2f} s, first-out {f['first_out']}"
    ),
    "transition": lambda f: f"{f['from']} → {f['to']} ({f['event']})",
    "loop_event": lambda f: f"loop event: {f['what']}",
    "power": lambda f: f"power {f['phase']}: {f['why']}",
    "second_trip_path": lambda f: f"second trip path: {f['what']}",
    "uncoordinated": lambda _f: "goes on without the coordinator",
    "lease_granted": lambda f: f"grants {f['rack']} leave to {f['work']} ({f['id']})",
    "lease_given_back": lambda f: f"has the lease of {f['rack']} back ({f['work']})",
    "lease_lapsed": lambda f: f"frees the lease of {f['rack']}, which was not renewed ({f['work']})",
    "flow_short": lambda f: f"flow is short: {f['needed_lpm']} L/min are needed, {f['capacity_lpm']} can be had",
    "flow_enough": lambda f: f"there is flow for all again ({f['needed_lpm']} L/min are needed)",
}


@dataclass(frozen=True, slots=True)
class Played:
    """One act that was played, and what the bus said meanwhile."""

    act: Act
    outcome: Outcome
    broker: str
    setup_s: float
    startup_s: float
    duration_s: float
    messages: dict[str, int]
    faults: list[str]


async def _await_service(stage: Stage, bus: Listener) -> None:
    names = [rack.name for rack in stage.racks]

    def all_there() -> bool:
        coordinated = not stage.options.coordinator or (LOOP in bus.loops and bus.loops[LOOP].state != {})
        return coordinated and all(
            name in bus.racks and bus.racks[name].state.get("state") == "FLOWING" for name in names
        )

    if await bus.wait_for(all_there, 20.0):
        return
    ended = stage.children.ended()
    states = {name: bus.racks[name].state.get("state") if name in bus.racks else "silent" for name in names}
    log = stage.children.tail(ended[0] if ended else f"valvey-{names[0]}")
    raise StageError(f"not all racks came into service: {states}; ended: {ended or 'none'}\n{log}")


async def _set_beside(stage: Stage, bus: Listener, screen: Screen) -> None:
    """Start the Rackies once the racks are in service: nobody's coolant waits for them."""
    await asyncio.to_thread(start_rackies, stage)
    if await bus.wait_for(lambda: _beside(stage, bus), RACKIES_S):
        screen.say("a Racky beside each Valvey: power, health and lifecycle of its rack")
    else:
        screen.say("not every Racky is there yet; Valvey does not need it", "yellow")


def _beside(stage: Stage, bus: Listener) -> bool:
    """Whether each rack's Racky has found its power."""
    found = (bus.rackies[rack.name].state if rack.name in bus.rackies else {} for rack in stage.racks)
    return all(state.get("state") == "ON" for state in found)


async def _play(act: Act, options: Options, console: Console, born_s: float) -> tuple[Stage, Played]:
    """Set the stage for one act and play it. The stage stands when this returns; on an error it is struck."""
    started_s = time.monotonic()
    stage = await asyncio.to_thread(set_stage, options)
    try:
        speed = f", SPEED {options.speed:g}: {options.speed:g} simulated seconds a second" if options.speed != 1 else ""
        with Screen(console, BANNER + speed, options.speed) as screen:
            screen.say(f"act {act.number}, {act.title}{speed}")

            def on_event(node: str, event: dict[str, Any]) -> None:
                tell = _TOLD.get(event["fact"])
                if tell is not None:
                    with contextlib.suppress(KeyError, TypeError):
                        screen.say(f"{node}  {tell(event['fields'])}", "red" if event["fact"] == "trip" else "")

            bus = Listener(stage.broker.host, stage.broker.port, SITE, on_event)
            listening = asyncio.create_task(bus.run())
            painting = asyncio.create_task(_paint(screen, bus))
            try:
                await _await_service(stage, bus)
                startup_s = time.monotonic() - started_s
                screen.say(
                    f"all racks in service after {startup_s:.2f} s; broker: {stage.broker.kind}, CDU: {options.mode}"
                )
                if options.racky:
                    await _set_beside(stage, bus, screen)
                outcome = await act.play()(stage, bus, screen)
            finally:
                for task in (painting, listening):
                    task.cancel()
                await asyncio.gather(painting, listening, return_exceptions=True)
        console.print(rack_table(bus, options.speed), *(table_of(one, options.speed) for one in outcome.tables))
        messages = {"published": bus.published, "observed": bus.observed, "invalid": bus.invalid}
        duration_s = time.monotonic() - started_s
        return stage, Played(
            act, outcome, stage.broker.kind, started_s - born_s, startup_s, duration_s, messages, bus.faults
        )
    except BaseException:
        stage.children.stop()
        raise


async def _play_all(acts: Sequence[Act], asked: float | None, options: Options, console: Console, born_s: float) -> int:
    played: list[Played] = []
    stage: Stage | None = None
    try:
        for act in acts:
            if stage is not None:
                await asyncio.to_thread(stage.children.stop)
            stage, one = await _play(act, stage_options(act, asked, options), console, born_s)
            played.append(one)
            born_s = time.monotonic()
        assert stage is not None  # there is at least one act
        report = _report(played, options)
        _tell_end(console, played, report, options)
        if options.keep:
            await _keep(stage, console)
        return 0 if report["ok"] else 1
    finally:
        if stage is not None:
            stage.children.stop()


def stage_options(act: Act, asked: float | None, options: Options) -> Options:
    """The options of one act: at the speed that was asked for, or at its own."""
    speed = act.speed if asked is None else asked
    fast_s = options.fast_s if speed == 1.0 else HURRIED_SCAN_S
    return replace(
        options,
        speed=speed,
        fast_s=fast_s,
        racks=act.racks,
        coordinator=act.coordinator,
        newcomers=act.newcomers,
    )


def _report(played: Sequence[Played], options: Options) -> dict[str, Any]:
    messages = {key: sum(one.messages[key] for one in played) for key in played[0].messages}
    claims = [
        Claim("demo.messages_valid", "messages that the contract refuses", float(messages["invalid"]), "<=", 0.0, "-")
    ]
    leak = next((one for one in played if one.act.id == "leak" and one.outcome.act["speed"] == 1.0), None)
    if leak is not None:
        startup, duration = leak.startup_s, leak.duration_s
        claims.append(Claim("demo.startup", "first process → every rack in service", startup, "<=", STARTUP_S, "s"))
        claims.append(Claim("demo.duration", "the whole of act 1", duration, "<=", DURATION_S, "s"))
    first = played[0]
    times = {
        "setup_s": round(first.setup_s, 3),
        "startup_s": round(first.startup_s, 3),
        "duration_s": round(sum(one.duration_s for one in played), 3),
    }
    return write_reports(options, first.broker, [one.outcome for one in played], claims, messages, times)


async def _paint(screen: Screen, bus: Listener) -> None:
    while True:
        screen.show(bus)
        await asyncio.sleep(0.15)


def _tell_end(console: Console, played: Sequence[Played], report: dict[str, Any], options: Options) -> None:
    console.print(claim_table(report))
    for fault in [fault for one in played for fault in one.faults][:5]:
        console.print(f"invalid message: {fault}", style="red")
    verdict = "every claim holds" if report["ok"] else "NOT every claim holds"
    console.print(
        f"{verdict}; see {_short(options.out / 'report.html')} and report.json",
        style="bold green" if report["ok"] else "bold red",
    )


def _short(path: Path) -> str:
    with contextlib.suppress(ValueError):
        return str(path.relative_to(Path.cwd()))
    return str(path)


async def _keep(stage: Stage, console: Console) -> None:
    broker, config = stage.broker, _short(stage.options.out / "config" / "r01.yaml")
    racky = f"  .venv/bin/racky health {config.replace('r01.yaml', 'racky-r01.yaml')}\n" if stage.options.racky else ""
    console.print(
        f"""\nEverything goes on running (Ctrl-C ends it). To play with, in another terminal:
  mosquitto_sub -h {broker.host} -p {broker.port} -v -t 'racky/v1/{SITE}/+/valvey/state'
  .venv/bin/valvey status {config}
{racky}  .venv/bin/valvey request isolate {config} --why "a look around"
  .venv/bin/firmware-sim fault add leak --rack r03 --place hose --value 2
  .venv/bin/firmware-sim fault list
  {_short(stage.options.out / "run.json")} names every port, process and file""",
        highlight=False,
        soft_wrap=True,
    )
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await stop.wait()


def main() -> int:
    born_s = time.monotonic()
    options, acts, speed = parse(sys.argv[1:])
    console = Console() if sys.stdout.isatty() else Console(width=118)
    try:
        with contextlib.suppress(ValueError):
            signal.signal(signal.SIGTERM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
        return asyncio.run(_play_all(acts, speed, options, console, born_s))
    except (NoBrokerError, StageError, ControlError, aiomqtt.MqttError) as error:
        console.print(str(error), style="red", highlight=False)
        return 1
    except KeyboardInterrupt:
        console.print("stopped; nothing is left running")
        return 130


if __name__ == "__main__":
    sys.exit(main())

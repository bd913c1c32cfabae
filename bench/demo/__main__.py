"""Plays the demo: ``python -m bench.demo [--act 1] [--mode constant_dp] [--seed 1] [--speed 1] [--mqtt host:port] [--keep]``."""

import argparse
import asyncio
import contextlib
import signal
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.demo import leak
from bench.demo.broker import NoBrokerError
from bench.demo.claims import DURATION_S, STARTUP_S, Claim
from bench.demo.listener import Listener
from bench.demo.report import write_reports
from bench.demo.screen import Screen, rack_table
from bench.demo.stage import SITE, Options, Stage, StageError, set_stage
from firmware_sim.plant_config import CduMode

BANNER = "SIMULATED - four racks on one CDU, one Valvey each, real Modbus TCP, real MQTT"
_TOLD = {
    "trip": lambda f: (
        f"TRIP {f['sif']} ({f['title']}): {f['tag']} = {f['value']}, held {f['held_s']:.2f} s, first-out {f['first_out']}"
    ),
    "transition": lambda f: f"{f['from']} → {f['to']} ({f['event']})",
    "loop_event": lambda f: f"loop event: {f['what']}",
    "second_trip_path": lambda f: f"second trip path: {f['what']}",
}


def _options(arguments: list[str]) -> Options:
    parser = argparse.ArgumentParser(
        prog="python -m bench.demo", description="Four racks, one leak, live. Everything is SIMULATED."
    )
    parser.add_argument("--act", default="1", choices=["1", "all"], help="1: a leak")
    parser.add_argument(
        "--mode", default="constant_dp", choices=[mode.name.lower() for mode in CduMode], help="what the CDU holds"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--speed", type=float, default=1.0, help="simulated seconds per second; figures of latency hold at 1 only"
    )
    parser.add_argument("--mqtt", default=None, metavar="HOST:PORT", help="use this broker")
    parser.add_argument("--keep", action="store_true", help="leave everything running until Ctrl-C")
    parser.add_argument(
        "--picture", type=Path, default=None, help="write the picture there as well, e.g. for the README"
    )
    parser.add_argument("--out", type=Path, default=Options().out)
    given = parser.parse_args(arguments)
    return Options(
        given.act,
        given.mode,
        given.seed,
        given.speed,
        given.mqtt,
        given.keep,
        picture=given.picture,
        out=given.out.resolve(),
    )


async def _await_service(stage: Stage, bus: Listener) -> None:
    names = [rack.name for rack in stage.racks]

    def all_flowing() -> bool:
        return all(name in bus.racks and bus.racks[name].state.get("state") == "FLOWING" for name in names)

    if await bus.wait_for(all_flowing, 20.0):
        return
    ended = stage.children.ended()
    states = {name: bus.racks[name].state.get("state") if name in bus.racks else "silent" for name in names}
    log = stage.children.tail(ended[0] if ended else f"valvey-{names[0]}")
    raise StageError(f"not all racks came into service: {states}; ended: {ended or 'none'}\n{log}")


async def _play(options: Options, console: Console, born_s: float) -> int:
    started_s = time.monotonic()
    stage = await asyncio.to_thread(set_stage, options)
    try:
        with Screen(console, BANNER) as screen:

            def say(text: str, style: str = "bold") -> None:
                screen.say(time.monotonic() - started_s, text, style)

            def on_event(rack: str, event: dict[str, Any]) -> None:
                tell = _TOLD.get(event["fact"])
                if tell is not None:
                    with contextlib.suppress(KeyError, TypeError):
                        say(f"{rack}  {tell(event['fields'])}", "red" if event["fact"] == "trip" else "")

            bus = Listener(stage.broker.host, stage.broker.port, SITE, on_event)
            listening = asyncio.create_task(bus.run())
            painting = asyncio.create_task(_paint(screen, bus))
            try:
                await _await_service(stage, bus)
                startup_s = time.monotonic() - started_s
                say(f"all racks in service after {startup_s:.2f} s; broker: {stage.broker.kind}, CDU: {options.mode}")
                outcome = await leak.play(stage, bus, say)
            finally:
                for task in (painting, listening):
                    task.cancel()
                await asyncio.gather(painting, listening, return_exceptions=True)
        duration_s = time.monotonic() - started_s
        claims = [
            *outcome.claims,
            Claim("demo.messages_valid", "messages that the contract refuses", float(bus.invalid), "<=", 0.0, "-"),
        ]
        if options.speed == 1.0:
            claims.append(
                Claim("demo.startup", "first process → every rack in service", startup_s, "<=", STARTUP_S, "s")
            )
            claims.append(Claim("demo.duration", "the whole demo", duration_s, "<=", DURATION_S, "s"))
        times = {
            "setup_s": round(started_s - born_s, 3),
            "startup_s": round(startup_s, 3),
            "duration_s": round(duration_s, 3),
        }
        report = write_reports(stage, bus, outcome, claims, times)
        _tell_end(console, bus, report, options)
        if options.keep:
            await _keep(stage, console)
        return 0 if report["ok"] else 1
    finally:
        stage.children.stop()


async def _paint(screen: Screen, bus: Listener) -> None:
    while True:
        screen.show(bus)
        await asyncio.sleep(0.15)


def _tell_end(console: Console, bus: Listener, report: dict[str, Any], options: Options) -> None:
    from bench.demo.report import claim_table, neighbour_table

    console.print(rack_table(bus), neighbour_table(report), claim_table(report))
    for fault in bus.faults[:5]:
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
    console.print(
        f"""\nEverything goes on running (Ctrl-C ends it). To play with, in another terminal:
  mosquitto_sub -h {broker.host} -p {broker.port} -v -t 'racky/v1/{SITE}/+/valvey/state'
  .venv/bin/valvey status {config}
  .venv/bin/valvey request isolate {config} --why "a look around"
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
    options = _options(sys.argv[1:])
    console = Console() if sys.stdout.isatty() else Console(width=118)
    try:
        with contextlib.suppress(ValueError):
            signal.signal(signal.SIGTERM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
        return asyncio.run(_play(options, console, born_s))
    except (NoBrokerError, StageError) as error:
        console.print(str(error), style="red", highlight=False)
        return 1
    except KeyboardInterrupt:
        console.print("stopped; nothing is left running")
        return 130


if __name__ == "__main__":
    sys.exit(main())

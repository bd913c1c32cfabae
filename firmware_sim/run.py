"""``firmware-sim run``: a bench until it is told to stop, with the service manager kept informed."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from fieldkit.service import Watchdog, notify, stop_on_signals
from firmware_sim.bench import Bench
from firmware_sim.bench_config import BenchConfig


async def run_bench(config: BenchConfig, ports_file: Path | None, started: Callable[[Bench], None]) -> None:
    """Run until SIGTERM, SIGINT or the control port's ``stop``. Raises OSError when a port or the file cannot be had."""
    watchdog = Watchdog()
    bench = Bench(config, beat=lambda: _beat(watchdog, bench))
    with stop_on_signals() as signalled:
        async with bench:
            if ports_file is not None:
                bench.write_ports(ports_file)
            notify("READY=1", f"STATUS=SIMULATED: {len(bench.bank.rigs)} racks, control {bench.ports['control']}")
            started(bench)
            waiting = asyncio.create_task(signalled.wait())
            running = asyncio.create_task(bench.wait())
            await asyncio.wait({waiting, running}, return_when=asyncio.FIRST_COMPLETED)
            notify("STOPPING=1")
            waiting.cancel()
            if running.done():
                running.result()
            else:
                running.cancel()


def _beat(watchdog: Watchdog, bench: Bench) -> None:
    watchdog.feed(time.monotonic(), f"SIMULATED: t {bench.bank.now_s:.0f} s, {len(bench.bank.book.faults)} faults")

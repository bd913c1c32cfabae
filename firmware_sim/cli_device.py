"""``firmware-sim device``: one device alone on a port, with a rack and its loop around it to measure."""

import asyncio
import json
from dataclasses import replace
from typing import Annotated, Any

import typer

from firmware_sim.cli_output import FAILED, USAGE, ControlOption, fail
from firmware_sim.parts.makers.catalogue import MAKERS_MAPS
from firmware_sim.parts.maps import MAPS
from firmware_sim.parts.maps_power import POWER_MAPS

ALL_MAPS = MAPS | MAKERS_MAPS
RACK = "r01"
_NUMBERED = frozenset({"power_shelf", "battery_shelf"})
"""Devices of which a rack has several."""


def device(
    name: Annotated[str, typer.Argument(help=", ".join(ALL_MAPS))],
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: a free port")] = 0,
    host: Annotated[str, typer.Option(help="address to bind; loopback unless told otherwise")] = "127.0.0.1",
    unit: Annotated[int | None, typer.Option(min=0, max=255, help="its unit; the maker's unless given")] = None,
    most: Annotated[int | None, typer.Option(min=1, max=125, help="most registers of one read")] = None,
    reply_delay: Annotated[float, typer.Option(min=0.0, max=10.0, help="seconds before each reply")] = 0.0,
    clients: Annotated[int | None, typer.Option(min=1, max=64, help="connections served at once")] = None,
    fault: Annotated[list[str] | None, typer.Option(help="a fault from the start: kind or kind=value")] = None,
    control: ControlOption = None,
) -> None:
    """Serve one device alone until stopped; prints one JSON line that tells its port and its control port.

    It hangs in a rack in service, so that its values move; faults come and go by `firmware-sim fault --control …`.
    """
    from firmware_sim.bench_config import demo_bench, usual_power
    from firmware_sim.fault_book import FaultRefusedError

    if name not in ALL_MAPS:
        fail(f"no device {name!r}; one of {', '.join(ALL_MAPS)}", USAGE)
    config = demo_bench(1, base_port=port, host=host)
    first = replace(config.racks[0], also=(name,) if name in MAKERS_MAPS else ())
    if name in POWER_MAPS:
        first = replace(first, power=usual_power(first.rated_kw))
    config = replace(config, racks=(first,))
    served = f"{name}_1" if name in _NUMBERED else name
    place = "cdu" if name == "cdu" else f"{RACK}/{served}"
    if control is not None:
        digits = control.rpartition(":")[2]
        if not digits.isdigit() or int(digits) > 65535:
            fail(f"--control is {control!r}; it must be host:port", USAGE)
        config = replace(config, control_port=int(digits))
    changes: dict[str, Any] = {"reply_delay_s": reply_delay}
    changes |= {} if unit is None else {"unit_id": unit}
    changes |= {} if most is None else {"max_registers": most}
    changes |= {} if clients is None else {"max_connections": clients}

    def started(bench: Any) -> None:
        firmware = bench.bank.endpoints[place].firmware
        firmware.map = replace(firmware.map, **changes)
        for text in fault or ():
            kind, _, value = text.partition("=")
            bench.bank.book.add(
                kind,
                rack=None if place == "cdu" else RACK,
                device=served,
                value=float(value) if value else None,
            )
        line = {
            "simulated": True,
            "device": name,
            "unit": firmware.map.unit_id,
            "tcp": f"{host}:{bench.bank.endpoints[place].port}",
            "control": bench.ports["control"],
        }
        typer.echo(json.dumps(line))

    from firmware_sim.run import run_bench

    try:
        asyncio.run(run_bench(replace(config, serve=frozenset({place})), None, started))
    except (FaultRefusedError, ValueError) as error:
        fail(str(error), USAGE)
    except OSError as error:
        fail(f"cannot start: {error}", FAILED)

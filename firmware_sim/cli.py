"""The command ``firmware-sim``.

Exit codes: 0 ok, 1 failed, 2 usage or bad configuration, 3 refused, 4 timed out, 5 unreachable.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from firmware_sim.cli_device import ALL_MAPS, device
from firmware_sim.cli_faults import fault_app
from firmware_sim.cli_image import image
from firmware_sim.cli_output import FAILED, OK, USAGE, AsOutput, ControlOption, Output, PortsOption, command, fail, tell
from firmware_sim.cli_replay import record_device, replay_device
from firmware_sim.client import ControlError, find_control
from firmware_sim.plant_config import CduMode, Start

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="The simulated bench. Everything it says is SIMULATED."
)
app.add_typer(fault_app, name="fault")
app.command("device")(device)
app.command("image")(image)
app.command("record-device")(record_device)
app.command("replay-device")(replay_device)


@app.command()
def run(
    file: Annotated[Path | None, typer.Argument(help="bench file (YAML)")] = None,
    bench: Annotated[Path | None, typer.Option("--bench", help="the same")] = None,
    racks: Annotated[int | None, typer.Option(min=1, max=64, help="instead of a file: so many racks")] = None,
    mode: Annotated[CduMode | None, typer.Option(help="what the CDU holds")] = None,
    start: Annotated[Start, typer.Option(help="with --racks: how they stand at the start")] = Start.FLOWING,
    power: Annotated[bool, typer.Option("--power", help="with --racks: with shelves, batteries, room sensors")] = False,
    seed: Annotated[int | None, typer.Option(min=0)] = None,
    speed: Annotated[float | None, typer.Option(min=0.01, max=100.0, help="simulated seconds per second")] = None,
    attended: Annotated[
        float | None, typer.Option(min=0.0, help="seconds a flowing rack waits for its controller")
    ] = None,
    kv_segment: Annotated[float | None, typer.Option(min=1.0, help="Kv of a header segment, m³/h")] = None,
    host: Annotated[str | None, typer.Option(help="address to bind; loopback unless told otherwise")] = None,
    base_port: Annotated[int | None, typer.Option(min=0, max=65000, help="0: free ports")] = None,
    control: ControlOption = None,
    ports_file: PortsOption = None,
) -> None:
    """Run a bench until it is stopped (SIGTERM, Ctrl-C, or `stop` at its control port)."""
    from dataclasses import replace

    from firmware_sim.bench_config import demo_bench

    if file is not None and bench is not None and file != bench:
        fail("give one bench file", USAGE)
    path = bench or file
    if path is not None and racks is not None:
        fail("give a bench file or --racks, not both", USAGE)
    if path is not None and power:
        fail("give a bench file or --power, not both", USAGE)
    given = {
        "mode": mode,
        "seed": seed,
        "speed": speed,
        "attended_s": attended,
        "kv_segment": kv_segment,
        "host": host,
        "base_port": base_port,
    }
    changes: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    if control is not None:
        changes["control_port"] = _port(control)
    config = _load_bench(path) if path is not None else demo_bench(racks or 4, start=start, power=power)
    _run(replace(config, **changes), ports_file)


def _load_bench(path: Path) -> Any:
    from fieldkit.errors import ConfigError
    from firmware_sim.bench_file import load_bench

    try:
        return load_bench(path)
    except ConfigError as error:
        fail(str(error), USAGE)


def _port(control: str) -> int:
    port = control.rpartition(":")[2]
    if not port.isdigit() or int(port) > 65535:
        fail(f"--control is {control!r}; it must be host:port", USAGE)
    return int(port)


def _run(config: Any, ports_file: Path | None) -> None:
    from firmware_sim.run import run_bench

    def started(bench: Any) -> None:
        where = f", ports in {ports_file}" if ports_file else ""
        typer.echo(f"SIMULATED bench: {', '.join(bench.bank.rigs)}; control {bench.ports['control']}{where}", err=True)
        if ports_file is None:
            typer.echo(json.dumps(bench.ports))
            sys.stdout.flush()

    try:
        asyncio.run(run_bench(config, ports_file, started))
    except ValueError as error:
        fail(str(error), USAGE)
    except OSError as error:
        fail(f"cannot start: {error}", FAILED)
    finally:
        if ports_file is not None:
            ports_file.unlink(missing_ok=True)


@app.command("map")
def register_map(
    name: Annotated[str, typer.Argument(metavar="DEVICE", help=", ".join(ALL_MAPS))], output: AsOutput = Output.TEXT
) -> None:
    """Print a device's register map, complete enough to write another such device."""
    if name not in ALL_MAPS:
        fail(f"no device {name!r}; one of {', '.join(ALL_MAPS)}", USAGE)
    device_map = ALL_MAPS[name]
    lines = [f"{name}: {device_map.vendor} {device_map.product} {device_map.revision}, unit {device_map.unit_id}"]
    for row in device_map.rows:
        unit = f"{row.scale:g} {row.unit}" if row.scale != 1 else row.unit
        more = " ".join(part for part in ("rw" if row.writable else "r", row.watchdog or "", row.note) if part)
        lines.append(f"{row.table.value:8} {row.address:5} {row.kind.value:6} {unit:12} {row.name:24} {more}")
    lines += [f"watchdog {name}: {text}" for name, text in device_map.watchdogs.items()]
    tell(device_map.document(), output, "\n".join(lines))


@app.command()
def snapshot(control: ControlOption = None, ports_file: PortsOption = None, output: AsOutput = Output.JSON) -> None:
    """Print everything true and everything measured."""
    result = command(control, ports_file, "snapshot")
    lines = [f"SIMULATED t {result['t_s']:.1f} s, speed {result['speed']:g}, CDU {result['cdu_mode']}"]
    for name, rack in result["racks"].items():
        true, limits = rack["true"], rack["controller"]["limits"]
        valves = (
            "open"
            if limits["ZSO-101"] and limits["ZSO-102"]
            else "shut"
            if limits["ZSC-101"] and limits["ZSC-102"]
            else "between"
        )
        lines.append(
            f"{name}  {true['flow_supply_lpm']:7.1f} L/min  {true['t_supply_c']:5.1f} -> {true['t_return_c']:5.1f} degC  "
            f"{true['busbar_kw']:6.1f} kW  XV {valves}  spilled {true['spilled_l']:.2f} L"
        )
    tell(result, output, "\n".join(lines))


@app.command()
def speed(
    factor: Annotated[
        float | None, typer.Argument(help="simulated seconds per second; without it the speed is shown")
    ] = None,
    control: ControlOption = None,
    ports_file: PortsOption = None,
    output: AsOutput = Output.TEXT,
) -> None:
    """Show or set the speed of a running bench."""
    result = command(control, ports_file, "speed", factor=factor)
    tell(result, output, f"SIMULATED speed {result['speed']:g}")


@app.command()
def load(
    rack: str,
    kw: float,
    low: Annotated[float | None, typer.Option(min=0.0, help="with --period: falls to that, kW")] = None,
    period: Annotated[float | None, typer.Option(help="period of a square wave, simulated seconds")] = None,
    control: ControlOption = None,
    ports_file: PortsOption = None,
    output: AsOutput = Output.TEXT,
) -> None:
    """Set what a rack's IT would draw, kW: constant, or the square wave of a training job."""
    result = command(control, ports_file, "load", rack=rack, kw=kw, low_kw=low, period_s=period)
    wave = "" if period is None else f", {low:g} kW every other half of {period:g} s"
    tell(result, output, f"SIMULATED {rack} load {kw:g} kW{wave}")


@app.command("tidy-up")
def tidy_up(
    rack: Annotated[str | None, typer.Option(help="one rack; all unless given")] = None,
    control: ControlOption = None,
    ports_file: PortsOption = None,
    output: AsOutput = Output.TEXT,
) -> None:
    """Dry trays and floor after a leak, empty the sump, fill the reservoir; a hole stays until its fault is cleared."""
    result = command(control, ports_file, "tidy_up", rack=rack)
    tell(result, output, f"SIMULATED dried {', '.join(result['dried'])}")


@app.command("check-physics")
def check_physics(
    file: Annotated[Path, typer.Argument(help="cases: a JSON file of type, inputs, expected")],
    output: AsOutput = Output.TEXT,
) -> None:
    """Compute every case with the simulator's own functions and compare."""
    from firmware_sim.check_physics import main as check_main

    raise typer.Exit(check_main(file, json_output=output is Output.JSON))


@app.command("validate-plant")
def validate_plant(
    file: Annotated[Path, typer.Argument(help="recording of a plant: CSV of offset, topic, payload")],
    output: AsOutput = Output.TEXT,
) -> None:
    """Predict the racks' return temperatures of a recorded plant: fitted on its first half, judged on its second."""
    from firmware_sim.validate_plant import main as validate_main

    raise typer.Exit(validate_main(file, json_output=output is Output.JSON, tell=typer.echo))


@app.command()
def scenario(
    file: Annotated[Path, typer.Argument(help="scenario (YAML)")],
    control: ControlOption = None,
    ports_file: PortsOption = None,
    output: AsOutput = Output.TEXT,
) -> None:
    """Play a scenario: on the running bench that --control names, else on its own plant in stepped time."""
    from fieldkit.errors import ConfigError
    from firmware_sim.scenario import load_scenario, play_on_bench, play_stepped

    try:
        plan = load_scenario(file)
        if control is not None or ports_file is not None:
            result = play_on_bench(plan, find_control(control, ports_file))
        else:
            result = play_stepped(plan)
    except (ConfigError, ValueError) as error:
        fail(str(error), USAGE)
    except ControlError as error:
        fail(str(error), error.code)
    lines = [f"{step['at_s']:8.2f} s  {step['what']}" for step in result["steps"]]
    lines += [f"{'PASS' if check['ok'] else 'FAIL'}  {check['text']}" for check in result["checks"]]
    tell(result, output, "\n".join([f"SIMULATED {plan.title}", *lines]))
    raise typer.Exit(OK if result["ok"] else FAILED)


def main() -> None:
    """Entry point of the console script."""
    app()

"""``firmware-sim fault``: inject, list and end faults of a running bench."""

from typing import Annotated, Any

import typer

from firmware_sim.cli_output import USAGE, AsOutput, ControlOption, Output, PortsOption, command, fail, tell

fault_app = typer.Typer(no_args_is_help=True, help="Inject, list and end faults of a running bench.")


@fault_app.command("add")
def fault_add(
    kind: Annotated[str, typer.Argument(help="`fault kinds` lists them")],
    rack: Annotated[str | None, typer.Option()] = None,
    tag: Annotated[str | None, typer.Option()] = None,
    device: Annotated[str | None, typer.Option()] = None,
    place: Annotated[str | None, typer.Option(help="of a leak")] = None,
    value: Annotated[float | None, typer.Option(help="in the kind's unit")] = None,
    for_s: Annotated[float | None, typer.Option("--for", help="simulated seconds until it ends by itself")] = None,
    at_s: Annotated[float | None, typer.Option("--at", help="simulated time of its begin; now unless given")] = None,
    control: ControlOption = None,
    ports_file: PortsOption = None,
    output: AsOutput = Output.TEXT,
) -> None:
    """Begin a fault."""
    result = command(
        control,
        ports_file,
        "fault_add",
        kind=kind,
        rack=rack,
        tag=tag,
        device=device,
        place=place,
        value=value,
        for_s=for_s,
        at_s=at_s,
    )
    tell(result, output, _fault_line(result))


@fault_app.command("list")
def fault_list(control: ControlOption = None, ports_file: PortsOption = None, output: AsOutput = Output.TEXT) -> None:
    """List the faults in force and those that wait."""
    result = command(control, ports_file, "fault_list")
    tell(result, output, "\n".join(map(_fault_line, result)) or "SIMULATED no faults")


@fault_app.command("clear")
def fault_clear(
    kind: Annotated[str | None, typer.Argument()] = None,
    ident: Annotated[int | None, typer.Option("--id")] = None,
    rack: Annotated[str | None, typer.Option()] = None,
    tag: Annotated[str | None, typer.Option()] = None,
    everything: Annotated[bool, typer.Option("--all", help="end every fault")] = False,
    control: ControlOption = None,
    ports_file: PortsOption = None,
    output: AsOutput = Output.TEXT,
) -> None:
    """End the faults that fit all that is given."""
    if not everything and kind is None and ident is None and rack is None and tag is None:
        fail("say which: a kind, --id, --rack, --tag, or --all", USAGE)
    result = command(control, ports_file, "fault_clear", kind=kind, ident=ident, rack=rack, tag=tag)
    tell(result, output, f"SIMULATED {result['cleared']} faults ended")


@fault_app.command("kinds")
def fault_kinds(output: AsOutput = Output.TEXT) -> None:
    """List every kind of fault."""
    from firmware_sim.faults import TABLE

    rows = [kind.document() for kind in TABLE]
    tell(
        rows,
        output,
        "\n".join(f"{row['kind']:26} {row['family']:9} {row['aim']:9} {row['unit']:16} {row['text']}" for row in rows),
    )


def _fault_line(fault: dict[str, Any]) -> str:
    aim = " ".join(str(fault[key]) for key in ("rack", "tag", "device", "place") if fault[key])
    value = "" if fault["value"] is None else f" {fault['value']:g} {fault['unit']}"
    state = "active" if fault["active"] else f"begins at {fault['at_s']:.1f} s"
    until = "" if fault["until_s"] is None else f" until {fault['until_s']:.1f} s"
    return f"SIMULATED fault {fault['id']}: {fault['kind']} {aim}{value}, {state}{until}"

"""``firmware-sim record-device`` and ``replay-device``: a conversation written down, and a device made of it."""

import asyncio
import json
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from firmware_sim.cli_output import FAILED, USAGE, fail
from firmware_sim.parts.pcap import Address, CaptureError
from firmware_sim.replayed import Unknown

_ADDRESS = re.compile(r"([A-Za-z0-9._-]+):([0-9]{1,5})")
HostOption = Annotated[str, typer.Option("--host", help="address to bind; loopback unless told otherwise")]
PortOption = Annotated[int, typer.Option("--port", min=0, max=65535, help="0: a free port")]


def replay_device(
    capture: Annotated[Path, typer.Argument(help="a recording (record-device), or a packet capture (pcap, pcapng)")],
    port: PortOption = 0,
    host: HostOption = "127.0.0.1",
    speed: Annotated[float, typer.Option(min=0.01, max=1000.0, help="recorded seconds per second")] = 1.0,
    unknown: Annotated[
        Unknown, typer.Option(help="what was never recorded gets exception 0x0B, or nothing")
    ] = Unknown.EXCEPTION,
    device: Annotated[str | None, typer.Option(help="host:port, where a packet capture has several devices")] = None,
) -> None:
    """Answer as a recorded device did: the same bytes after the same time. Prints one JSON line that tells its port.

    Requests are matched by their bytes, transaction id aside, in the order of the recording; what is asked more often
    than it was recorded begins with its first answer again. What was never recorded is told on stderr, once each.
    """
    from firmware_sim.capture import load
    from firmware_sim.replayed import Replayed

    try:
        recorded = load(capture, None if device is None else _address(device, "--device"))
    except CaptureError as error:
        fail(f"{capture}: {error}", USAGE)
    except OSError as error:
        fail(f"{capture}: {error.strerror}", USAGE)
    replayed = Replayed(recorded, speed=speed, otherwise=unknown, told=_told)
    line = {"simulated": True, "replays": str(capture), "recorded": len(recorded)}

    async def serve(begun: Any) -> None:
        begun(await replayed.listen(host, port))

    _until_stopped(serve, replayed.close, line, host)
    _told(replayed.summary())


def record_device(
    to: Annotated[str, typer.Option("--to", help="host:port of the device")],
    out: Annotated[Path, typer.Option("--out", help="the recording, a new file")],
    port: PortOption = 0,
    host: HostOption = "127.0.0.1",
) -> None:
    """Stand between clients and a device and write down what passes, until stopped. Prints one JSON line that tells its port."""
    from firmware_sim.recorder import Recorder

    where = _address(to, "--to")
    try:
        file = out.open("x", encoding="utf-8")
    except FileExistsError:
        fail(f"{out} exists, and is not overwritten", USAGE)
    except OSError as error:
        fail(f"{out}: {error.strerror}", USAGE)
    with file:
        recorder = Recorder(*where, file, _told)

        async def serve(begun: Any) -> None:
            begun(await recorder.listen(host, port))

        _until_stopped(serve, recorder.close, {"records": to, "out": str(out)}, host)
        _told(f"{recorder.chunks} pieces in {out}")


def _until_stopped(serve: Any, end: Any, line: dict[str, Any], host: str) -> None:
    from fieldkit.service import stop_on_signals

    def begun(port: int) -> None:
        typer.echo(json.dumps({**line, "tcp": f"{host}:{port}"}))

    async def run() -> None:
        with stop_on_signals() as signalled:
            await serve(begun)
            await signalled.wait()
            await end()

    try:
        asyncio.run(run())
    except OSError as error:
        fail(f"cannot start: {error}", FAILED)


def _address(text: str, option: str) -> Address:
    found = _ADDRESS.fullmatch(text)
    if found is None or not 1 <= int(found[2]) <= 65535:
        fail(f"{option} is {text!r}; it must be host:port", USAGE)
    return found[1], int(found[2])


def _told(text: str) -> None:
    typer.echo(f"firmware-sim: {text}", err=True)

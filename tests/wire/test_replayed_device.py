"""A conversation of `valvey field` is recorded, and replayed by a device made of it: same values, same times."""

import asyncio
import json
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import pytest
import yaml

from bench.rig import RackPlan, Rig
from fieldkit.bus import LinkError
from fieldkit.modbus import TcpLink
from firmware_sim.capture import load
from tests.wire.scripted_device import Request, scripted

ROOT = Path(__file__).resolve().parents[2]
SCANS = 40
SLACK_S = 0.005


@contextmanager
def firmware_sim(*arguments: str) -> Generator[tuple[dict[str, Any], subprocess.Popen[str]], None, None]:
    """Run a command of ``firmware-sim`` that tells its port in a line of JSON; stopped as a person would."""
    command = [sys.executable, "-m", "firmware_sim", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    try:
        ready, _, _ = select.select([process.stdout], [], [], 20.0)
        assert ready, "no line"
        yield json.loads(process.stdout.readline()), process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=5.0)


def field(config: Path, scans: int) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "valvey", "field", str(config), "-o", "jsonl", "--scans", str(scans)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30.0, check=True, cwd=ROOT)
    return [json.loads(line) for line in done.stdout.splitlines()]


def through(config: Path, place: str, out: Path) -> Path:
    """The same rack's file with the transmitters somewhere else."""
    document = yaml.safe_load(config.read_text())
    document["buses"]["transmitters"]["tcp"] = place
    out.write_text(yaml.safe_dump(document))
    return out


def values(rows: list[dict[str, Any]], scans: int) -> list[dict[str, tuple[float | None, str]]]:
    """What the transmitters said, scan by scan."""
    tags = {"FT-101", "FT-102", "FT-103", "TT-101", "TT-102A", "TT-102B", "TT-102C", "PT-101", "PT-102"}
    each = len(rows) // scans
    return [
        {row["tag"]: (row["value"], row["quality"]) for row in rows[n * each : (n + 1) * each] if row["tag"] in tags}
        for n in range(scans)
    ]


def each_once(scans: list[dict[str, tuple[float | None, str]]]) -> list[dict[str, tuple[float | None, str]]]:
    """Without the scans that brought nothing new: a scan that comes a little early reads in the next one."""
    return [scan for n, scan in enumerate(scans) if n == 0 or scan != scans[n - 1]]


def test_a_recorded_conversation_of_valvey_field_is_replayed_with_the_same_values(tmp_path: Path) -> None:
    recording = tmp_path / "transmitters.jsonl"
    with Rig(tmp_path / "rig", [RackPlan("r01")]) as rig:
        device = rig.devices["r01"]["transmitters"]
        with firmware_sim("record-device", "--to", device, "--out", str(recording)) as (line, _):
            first = field(through(rig.config("r01"), line["tcp"], rig.folder / "config" / "one.yaml"), SCANS)
        with firmware_sim("replay-device", str(recording), "--port", "0") as (line, _):
            second = field(through(rig.config("r01"), line["tcp"], rig.folder / "config" / "two.yaml"), SCANS)
    then, now = each_once(values(first, SCANS)), each_once(values(second, SCANS))
    assert all(quality == "GOOD" for scan in then for _, quality in scan.values())
    most = min(len(then), len(now))
    assert most > SCANS // 8, "values that never change would prove little"
    assert now[:most] == then[:most]


async def _ask(place: str, frame: bytes, count: int, within_s: float = 5.0) -> list[tuple[float, bytes]]:
    """Send one frame on a new connection; return what comes, and after how long."""
    host, _, port = place.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    out, begun_s = list[tuple[float, bytes]](), time.monotonic()
    writer.write(frame)
    try:
        async with asyncio.timeout(within_s):
            while len(out) < count:
                data = await reader.read(300)
                out.append((time.monotonic() - begun_s, data))
    finally:
        writer.close()
    return out


def frame(tid: int, address: int) -> bytes:
    return tid.to_bytes(2) + bytes.fromhex("00000006 01 04") + address.to_bytes(2) + b"\0\x01"


async def test_late_replies_and_pieces_come_back_as_late_and_as_cut_as_they_were(tmp_path: Path) -> None:
    recording = tmp_path / "slow.jsonl"

    async def slowly(request: Request, wire: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.02 * request.address)
        reply = request.good()
        wire.write(reply[:5])
        await wire.drain()
        await asyncio.sleep(0.05)
        wire.write(reply[5:])

    async with scripted(slowly) as device:
        to = f"127.0.0.1:{device.port}"
        with firmware_sim("record-device", "--to", to, "--out", str(recording)) as (line, _):
            for address in (2, 15):
                await _ask(line["tcp"], frame(1, address), 2)
    recorded = {one.request[-3]: [piece.after_s for piece in one.pieces] for one in load(recording)}
    off = []
    with firmware_sim("replay-device", str(recording)) as (line, _):
        for address in (2, 15):
            for tid in range(5):
                heard = await _ask(line["tcp"], frame(100 + tid, address), 2)
                assert b"".join(data for _, data in heard) == (100 + tid).to_bytes(2) + bytes.fromhex(
                    "00000005 01 04 02"
                ) + address.to_bytes(2)
                off += [at_s - after_s for (at_s, _), after_s in zip(heard, recorded[address], strict=True)]
    print(f"off by {1000 * median(off):.2f} ms (median), {1000 * max(off):.2f} ms at most")
    assert min(off) > -0.002
    assert median(off) < SLACK_S


async def test_a_late_reply_is_late_for_valvey_too_when_it_is_replayed(tmp_path: Path) -> None:
    """Its reply comes after the timeout: BAD by timeout, and never the value of another register."""
    recording = tmp_path / "late.jsonl"
    lines = ['{"capture": "modbus-tcp/1", "to": "a device"}']
    for n in range(6):
        request, reply = frame(n, 20 + n), n.to_bytes(2) + bytes.fromhex("00000005 01 04 02") + (20 + n).to_bytes(2)
        late_s = 0.15 if n == 2 else 0.03
        lines += [json.dumps({"at_s": n, "connection": 0, "from": "client", "hex": request.hex()})]
        lines += [json.dumps({"at_s": n + late_s, "connection": 0, "from": "device", "hex": reply.hex()})]
    recording.write_text("\n".join(lines))
    with firmware_sim("replay-device", str(recording)) as (line, _):
        host, _, port = line["tcp"].rpartition(":")
        link = TcpLink("device", host, int(port), timeout_s=0.1)
        seen: list[int | str] = []
        for n in range(6):
            try:
                seen.append(int.from_bytes(await link.read(1, "input", 20 + n, 1)))
            except LinkError as error:
                seen.append(str(error.reason))
        late = link.counters.late_replies
        await link.close()
    assert late == 1, "it came, and was known as late"
    assert seen == [20, 21, "timeout", 23, 24, 25]


@pytest.mark.parametrize(("unknown", "reply"), [("exception", "0007 0000 0003 01 84 0b"), ("drop", None)])
async def test_what_was_never_recorded_is_told_and_gets_what_was_chosen(
    tmp_path: Path, unknown: str, reply: str | None
) -> None:
    recording = tmp_path / "one.jsonl"
    recording.write_text(
        '{"capture": "modbus-tcp/1"}\n'
        + json.dumps({"at_s": 0.0, "connection": 0, "from": "client", "hex": frame(1, 1).hex()})
    )
    with firmware_sim("replay-device", str(recording), "--unknown", unknown) as (line, process):
        if reply is None:
            with pytest.raises(TimeoutError):
                await _ask(line["tcp"], frame(7, 99), 1, within_s=0.3)
        else:
            assert (await _ask(line["tcp"], frame(7, 99), 1))[0][1] == bytes.fromhex(reply)
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=5.0)
    assert "unit 1: read input 99, count 1 was never recorded" in told
    assert process.returncode == 0


def test_a_recording_is_never_overwritten_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    (file := tmp_path / "there.jsonl").write_bytes(b"\xd4\xc3\xb2\xa1")
    for arguments in (["record-device", "--to", "127.0.0.1:1", "--out", str(file)], ["replay-device", str(file)]):
        command = [sys.executable, "-m", "firmware_sim", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20.0, check=False, cwd=ROOT)
        assert (done.returncode, done.stdout) == (2, "")
        assert str(file) in done.stderr
        assert "Traceback" not in done.stderr

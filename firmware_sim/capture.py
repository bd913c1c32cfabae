"""Captured conversations on disk: packet captures, and the recorder's own lines of JSON.

A recording begins with a line ``{"capture": "modbus-tcp/1", "to": "host:port"}``; each further one is bytes of one
connection as they came: ``{"at_s": 0.0123, "connection": 0, "from": "client", "hex": "0001…"}``, or ``"device"``.
"""

import json
from pathlib import Path
from typing import Any

from firmware_sim.parts.conversation import Event, Exchange, events_of, exchanges
from firmware_sim.parts.pcap import Address, CaptureError, segments

FORMAT = "modbus-tcp/1"


def load(path: Path, device: Address | None = None) -> list[Exchange]:
    """Return what was asked and answered in a file; ``device``: which one, where a packet capture has several.

    Raises CaptureError, OSError.
    """
    data = path.read_bytes()
    events = _lines(data) if data[:1] == b"{" else events_of(segments(data), device)
    found = exchanges(events)
    if not found:
        raise CaptureError("nobody asks anything in it that is Modbus TCP")
    return found


def head(to: str) -> str:
    """The first line of a recording."""
    return json.dumps({"capture": FORMAT, "to": to})


def line(event: Event) -> str:
    """One more line of it."""
    who = "client" if event.asked else "device"
    return json.dumps({
        "at_s": round(event.at_s, 6), "connection": event.connection, "from": who, "hex": event.data.hex()
    })  # fmt: skip


def _lines(data: bytes) -> list[Event]:
    first, *rest = data.splitlines()
    if (format_ := _row(1, first).get("capture")) != FORMAT:
        raise CaptureError(f"line 1: capture is {format_!r}; {FORMAT!r} is read")
    events: list[Event] = []
    for number, text in enumerate(rest, 2):
        row = _row(number, text)
        try:
            events.append(_event(row))
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise CaptureError(f"line {number} is no line of a recording: {error}") from None
    return events


def _row(number: int, text: bytes) -> dict[str, Any]:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CaptureError(f"line {number} is no JSON: {error}") from None
    if not isinstance(row, dict):
        raise CaptureError(f"line {number} is no JSON object")
    return row


def _event(row: dict[str, Any]) -> Event:
    at_s, connection, who = float(row["at_s"]), int(row["connection"]), row["from"]
    if who not in {"client", "device"} or not 0.0 <= at_s < 1e9:
        raise ValueError(f"from is {who!r} at {at_s!r}; client or device, seconds from 0")
    return Event(at_s, connection, who == "client", bytes.fromhex(row["hex"]))

"""The bench's file: which rack's devices stand on the bench, what they are, and what a person there can do to them."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from fieldkit.bus_profiles import document_of
from fieldkit.config_draft import Draft, read
from fieldkit.config_parts import Id, Model, TagName, Text
from fieldkit.errors import ConfigError, nearest
from valvey import config
from valvey.config import RackConfig, to_limits
from valvey.ladder import Response, responses

NOTHING = "nothing"
"""The word for a cable whose loss is told and not acted on."""
NEUTRAL: dict[str, Any] = {
    "bench": "bench",
    "rack": "rack.yaml",
    "devices": {},
    "zones": {},
    "cables": {},
    "valves": {},
}
SWITCHES: dict[str, tuple[str | None, str]] = {
    "XV-101": ("ZSO-101", "ZSC-101"),
    "XV-102": ("ZSO-102", "ZSC-102"),
    "XV-103": (None, "ZSC-103"),
    "XV-104": (None, "ZSC-104"),
}
"""Valve: its limit switches, open and shut; drain and vent have none for open."""
COILS = {"XV-101": "XY-101", "XV-102": "XY-102", "XV-103": "XY-103", "XV-104": "XY-104", "XS-101": "XSY-101"}


class Expected(Model):
    """What a device must say it is; what is left out may be anything and is told in the report."""

    vendor: Text | None = None
    product: Text | None = None
    revision: Text | None = None


class Stroke(Model):
    """How long a valve travels from one end to the other, from its coil to the limit switch it arrives at."""

    shut_s: Annotated[float, Field(gt=0, le=120)]
    open_s: Annotated[float, Field(gt=0, le=120)] | None = None
    """Left out = it has no limit switch for open."""
    tolerance_s: Annotated[float, Field(gt=0, le=30)] = 0.5


class BenchFile(Model):
    """One bench."""

    bench: Id
    rack: Text
    """The rack's file, seen from this one: its buses are the hardware, its limits what is promised."""
    devices: dict[Id, Expected]
    """By bus of the rack's file."""
    valves: dict[TagName, Stroke]
    zones: dict[TagName, Text]
    """Leak detector -> where a person finds its sensor."""
    cables: dict[Id, Text]
    """Bus whose cable is pulled -> the row of the response-time sheet that must act, or ``nothing``."""
    expiry_tolerance_s: Annotated[float, Field(gt=0, le=5)] = 0.5
    """How much earlier or later than declared an output may lapse."""
    operator_s: Annotated[float, Field(ge=5, le=3600)] = 300.0
    """How long a person may take for what is asked of them."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A bench's file with its rack: both passed every check.

    digest  sha256 of the bench's file as it is; the rack's own is in ``rack.digest``
    """

    path: Path
    data: BenchFile
    rack: RackConfig
    digest: str

    @property
    def sheet(self) -> dict[str, Response]:
        """The rack's response-time sheet by row."""
        return {line.row: line for line in responses(self.rack, to_limits(self.rack))}

    def rows_of(self, detector: str) -> list[Response]:
        """What acts when this detector alone is wet: the rules of the leak policy that need no second symptom."""
        rules = [
            rule for rule in self.rack.policy
            if detector in rule.detectors and rule.action in {"dark", "isolate", "esd"} and not rule.second_symptom and rule.count == 1
        ]  # fmt: skip
        return [line for rule in rules if (line := self.sheet.get(f"SIF-1/{rule.name}")) is not None]


def load(path: Path, rack: Path | None = None) -> Loaded:
    """Read and check a bench's file against its rack's; ``rack`` stands in for the one it names. Raises ConfigError."""
    document, faults = document_of(path, "a bench's file")
    draft = read(document, faults, BenchFile, NEUTRAL)
    if draft.faults:
        raise ConfigError(draft.faults)
    found = Loaded(
        path,
        draft.model,
        config.load(path.parent / draft.model.rack if rack is None else rack),
        hashlib.sha256(path.read_bytes()).hexdigest(),
    )
    _check(draft, found)
    if draft.faults:
        raise ConfigError(draft.faults)
    return found


def _check(draft: Draft[BenchFile], found: Loaded) -> None:
    data, rack = found.data, found.rack.data
    for section, buses in (("devices", data.devices), ("cables", data.cables)):
        for bus in buses:
            if bus not in rack.buses:
                _unknown(draft, (section, bus), "bus", bus, list(rack.buses))
    for bus, row in data.cables.items():
        if row != NOTHING and row not in found.sheet:
            rows = [NOTHING, *found.sheet]
            message = f"the response-time sheet has no row {row!r}"
            draft.add(("cables", bus), message, ", ".join(rows), nearest(row, rows))
    for detector in data.zones:
        if detector not in rack.tags:
            _unknown(draft, ("zones", detector), "tag", detector, [tag for tag in rack.tags if tag.startswith("LD")])
        elif not found.rows_of(detector):
            draft.add(
                ("zones", detector), "no rule of the leak policy acts when it alone is wet", "a detector that acts"
            )
    for valve in data.valves:
        if valve not in SWITCHES or valve not in rack.tags:
            _unknown(draft, ("valves", valve), "valve", valve, [one for one in SWITCHES if one in rack.tags])


def _unknown(draft: Draft[BenchFile], at: tuple[str | int, ...], what: str, name: str, known: list[str]) -> None:
    draft.add(at, f"the rack's file has no {what} {name!r}", ", ".join(known), nearest(name, known))

"""What a test of the bench does to the field, said before it does it: for `--dry-run`, and held against what was done."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from bench.hil.file import Loaded

OUTPUTS = ("XV-101", "XV-102", "XV-103", "XV-104", "FCV-101", "XS-101")
FAST = 5.0
"""Speed of the simulated bench where nothing but its physics takes long."""


class Stand(StrEnum):
    """How the rack stands before a test, and after it again."""

    NOTHING = "nothing is needed"
    IN_SERVICE = "in service: guarded by its Valvey, FLOWING, permit on, no fault"
    ISOLATED = "isolated: nobody writes, all outputs off, all valves shut, no fault"


@dataclass(frozen=True, slots=True)
class Plan:
    """One test's.

    stand   see Stand
    writes  the outputs that may be written, and by whom: ``valvey`` (the daemon) or ``bench`` (this program)
    person  what a person does on hardware, in order; braces take the test's parameters
    speed   simulated seconds per second, for the simulated bench only
    """

    stand: Stand = Stand.NOTHING
    writes: tuple[str, ...] = ()
    by: str = "valvey"
    person: tuple[str, ...] = ()
    speed: float = 1.0
    about: Mapping[str, str] = field(default_factory=dict)

    def of(self, **params: object) -> "Plan":
        """Return the plan of one case of a test: its parameters in place of the braces."""
        words = {name: str(value) for name, value in params.items()}
        writes = tuple(tag.format_map(words) for tag in self.writes)
        return replace(self, writes=writes, about=words)

    def lines(self, bench: Loaded) -> list[str]:
        """Say it for people, with each write's device and register."""
        out = [f"starts    {self.stand}"]
        if not self.writes:
            out.append("writes    nothing")
        for tag in self.writes:
            out.append(f"writes    {tag} by {self.by}: {place_of(bench, tag)}")
        for text in self.person:
            out.append(f"person    {told(text, bench, self.about)}")
        return out


def told(text: str, bench: Loaded, about: Mapping[str, str]) -> str:
    """Fill what a person is told: parameters of the test, and where the detector or device is."""
    place = bench.data.zones.get(about.get("zone", ""), "")
    bus = bench.rack.data.buses.get(about.get("bus", ""))
    return text.format_map({**about, "place": place, "way": "" if bus is None else bus.way})


def place_of(bench: Loaded, tag: str) -> str:
    """Where an output is written: device, address, unit, register."""
    place = bench.rack.data.tags.get(tag)
    if place is None:
        return "not on this rack"
    bus = bench.rack.data.buses[place.bus]
    point = bench.rack.profiles[place.bus].points[place.point]
    return f"{place.bus} at {bus.way}, unit {bus.unit}, {point.table} {point.address} ({place.point})"

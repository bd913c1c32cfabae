"""What a measure is shown: the rack on paper, and what was seen in each window."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import median

from fieldkit.coolant import density_kg_m3
from racky.core.gates import Measured
from racky.core.plan import Design
from racky.core.setup import Shelf
from racky.core.windows import Window

WIDE, NOMINAL, LOAD = "wide", "nominal", "load"
RETURNS = ("TT-102A", "TT-102B", "TT-102C")
LATCHES, ALARMS = "latches", "alarms"
"""What is counted beside the readings: Valvey's latches, and its alarms that are more than a remark."""
NOTHING = Measured(None)


@dataclass(frozen=True, slots=True)
class Shown:
    """All that a measure may look at. ``facts``: what the lifecycle measured by itself, by name of the measure."""

    design: Design
    shelves: tuple[Shelf, ...]
    windows: Mapping[str, Window]
    facts: Mapping[str, Measured] = field(default_factory=dict)

    def level(self, window: str, tag: str) -> float | None:
        one = self.windows.get(window)
        return None if one is None else one.level(tag)

    def return_c(self, window: str) -> float | None:
        """The median of the return sensors that have a level."""
        known = [level for tag in RETURNS if (level := self.level(window, tag)) is not None]
        return median(known) if known else None

    def specific_gravity(self, window: str) -> float | None:
        celsius = self.level(window, "TT-101")
        return None if celsius is None else density_kg_m3(celsius) / 1000.0


Measure = Callable[[Shown], Measured]


def lost(window: str, **values: float | None) -> Measured:
    """What a measure says that misses readings; ``_`` in a name is written ``-``."""
    gone = ", ".join(name.replace("_", "-") for name, value in values.items() if value is None)
    return Measured(None, f"{gone} had no level in the {window} window")


def level(window: str, tag: str) -> Measure:
    def measure(shown: Shown) -> Measured:
        return Measured(shown.level(window, tag), f"{tag}, {window}")

    return measure

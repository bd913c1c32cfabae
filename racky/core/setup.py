"""What a rack's configuration tells the core: its shelves, its bounds and its times."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from racky.core.plan import Plan

PSUS = ("A", "B", "C", "D", "E", "F")


class Reclose(StrEnum):
    """Who powers the rack again after its power was taken away and Valvey has it back in service."""

    AUTOMATIC = "automatic"
    MANUAL = "manual"


@dataclass(frozen=True, slots=True)
class Output:
    """What can be switched. ``number`` is its loop."""

    number: int

    @property
    def command(self) -> str:
        return f"XS-{self.number}"

    @property
    def feedback(self) -> str:
        return f"XI-{self.number}"


@dataclass(frozen=True, slots=True)
class Shelf(Output):
    """One power shelf; 111 is the first of the rack."""

    rating_kw: float = 33.0
    psus: tuple[str, ...] = PSUS

    @property
    def power(self) -> str:
        return f"JT-{self.number}"

    def psu(self, letters: str, psu: str) -> str:
        """Tag of one measurement of one PSU, e.g. ``EA-111C``."""
        return f"{letters}-{self.number}{psu}"


@dataclass(frozen=True, slots=True)
class Battery(Output):
    """One battery shelf; 121 is the first."""

    @property
    def charge(self) -> str:
        return f"QT-{self.number}"

    @property
    def feeding(self) -> str:
        return f"XB-{self.number}"


@dataclass(frozen=True, slots=True)
class Setup:
    """One rack.

    rating_kw, budget_kw  what the rack may draw at most; what the site gives it
    flow_nominal_lpm      flow at the rating
    shelves, batteries    in the order in which they are switched on; off is the reverse, batteries before shelves
    shed                  loops of shelves, those that are switched off first when the load does not obey a cap
    link_of               device that each of Racky's own tags hangs on
    armed                 whether anything is written
    pause_s, output_s     between two outputs; how long one may take to show that it obeyed
    grace_s               how long the load may stay over its cap before shelves are shed
    shed_s, restore_s     between two sheds; how long there must be room before a shed shelf comes back
    settle_s              how long everything must allow power before an automatic reclose
    plan                  the way into production; None: this rack's lifecycle is not Racky's
    """

    rack: str
    rating_kw: float = 132.0
    budget_kw: float = 132.0
    flow_nominal_lpm: float = 197.0
    shelves: tuple[Shelf, ...] = ()
    batteries: tuple[Battery, ...] = ()
    shed: tuple[int, ...] = ()
    link_of: Mapping[str, str] = field(default_factory=dict)
    armed: bool = False
    reclose: Reclose = Reclose.MANUAL
    pause_s: float = 2.0
    output_s: float = 10.0
    grace_s: float = 10.0
    shed_s: float = 5.0
    restore_s: float = 120.0
    settle_s: float = 10.0
    plan: Plan | None = None

    @property
    def outputs(self) -> tuple[Output, ...]:
        """All that can be switched, in the order of switching on."""
        return (*self.shelves, *self.batteries)

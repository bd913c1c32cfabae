"""Memory: all that one step hands to the next, and all of it survives a restart.

Times ending in ``_s`` are boot-time seconds; ``boot_id`` says of which boot.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from fieldkit.alarm import AlarmState
from fieldkit.request import Answered
from racky.core.life import Lifecycle

FORMAT = 1


class Phase(StrEnum):
    """Where the rack's power stands."""

    UNKNOWN = "UNKNOWN"
    """Just started, or feedback was never seen: nothing is written."""
    OFF = "OFF"
    RISING = "RISING"
    ON = "ON"
    FALLING = "FALLING"
    TRIPPED = "TRIPPED"
    """The second trip path acted: everything off, until a person resets it."""


@dataclass(frozen=True, slots=True)
class Cap:
    """A power cap that somebody asked for, kW. ``until_s`` None: until it is changed."""

    kw: float
    by: str
    why: str
    since_s: float
    until_s: float | None = None


@dataclass(frozen=True, slots=True)
class PreTrip:
    """A cap that one row of Valvey's trip table asks for, kW. ``asked_s``: when it asked last; ``cut_s``: the last cut."""

    kw: float
    asked_s: float
    cut_s: float


@dataclass(frozen=True, slots=True)
class Power:
    """The rack's power.

    was         phase before the last start
    since_s     when the phase began;  why  what brought it there, for people
    wanted      somebody wants the power on; a power-off ends that, and with manual reclose a loss
    hurry       the fall does not pause between outputs
    demand      what is demanded of each output, by command tag; an output without a demand stays as it is
    asked_s     since when the demand of each is what it is;  said_s  when it was written last
    late        outputs that did not obey in time, by command tag
    tripped     why the second trip path acted, the last time
    cap         the cap that people ask for;  pretrip  those of Valvey, by row
    least       source and kW of the least of all caps
    shed        command tags of shelves that were switched off to keep a cap, in that order
    shed_s      when a shelf was last shed or restored
    over_s, room_s   since when the load is over its cap; since when there is room for a shed shelf
    allowed_s   since when everything allows power
    zero_s      since when the least cap is nothing
    """

    phase: Phase = Phase.UNKNOWN
    was: Phase | None = None
    since_s: float = 0.0
    why: str = ""
    wanted: bool = False
    hurry: bool = False
    demand: Mapping[str, bool] = field(default_factory=dict)
    asked_s: Mapping[str, float] = field(default_factory=dict)
    said_s: Mapping[str, float] = field(default_factory=dict)
    late: frozenset[str] = frozenset()
    tripped: str | None = None
    cap: Cap | None = None
    pretrip: Mapping[str, PreTrip] = field(default_factory=dict)
    least: tuple[str, float] | None = None
    shed: tuple[str, ...] = ()
    shed_s: float = 0.0
    over_s: float | None = None
    room_s: float | None = None
    allowed_s: float | None = None
    zero_s: float | None = None


@dataclass(frozen=True, slots=True)
class Maintenance:
    """Somebody works at the rack: it gets no jobs and calls nobody; trips still act. It ends by itself."""

    by: str
    why: str
    since_s: float
    until_s: float


@dataclass(frozen=True, slots=True)
class Tray:
    """A tray whose leak flag IT has told. ``until_s``: it counts as wet until then; ``said_s``: when Valvey had it last."""

    until_s: float
    said_s: float | None = None


@dataclass(frozen=True, slots=True)
class Pending:
    """An accepted request whose end is still to come."""

    id: str
    client: str
    request: str
    since_s: float


@dataclass(frozen=True, slots=True)
class Memory:
    """The rack as Racky knows it.

    state_seq   +1 at each change of phase, trip, cap, maintenance and start
    since_s     by id of a cause: when it was found first
    causes      ids of the causes that stood in the last step
    trays       trays that IT tells wet
    """

    format: int = FORMAT
    boot_id: str = ""
    now_s: float = 0.0
    state_seq: int = 0
    readable: bool = True
    power: Power = field(default_factory=Power)
    maintenance: Maintenance | None = None
    since_s: Mapping[str, float] = field(default_factory=dict)
    causes: tuple[str, ...] = ()
    trays: Mapping[str, Tray] = field(default_factory=dict)
    alarms: Mapping[str, AlarmState] = field(default_factory=dict)
    answered: tuple[Answered, ...] = ()
    pending: tuple[Pending, ...] = ()
    life: Lifecycle = field(default_factory=Lifecycle)

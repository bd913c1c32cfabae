"""Before the gate: what the field must show while a rack without a guard is moved by hand. Pure.

Every act names the state of the chart whose work it is, and passes ``valvey.core.gate`` as that state's demand: what no
state may do, commissioning may not. What a running guard would watch meanwhile (leak, emergency stop, key, pressure,
power) is asked for here, in every scan, and nothing unknown is taken for good.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from valvey.commissioning.line import is_off, is_on
from valvey.core.chart import State
from valvey.core.gate import Evidence, Outputs, pass_through
from valvey.core.limits import Limits

Seen = Callable[[str], float | None]
"""The fresh and good value of a tag, else None."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What one act wants of the outputs now.

    work      the state whose work it is, for the gate
    powered   the permit is on, or rising
    silent    nothing is written: the devices' expiries are awaited; the field is watched all the same
    stop      the emergency stop is being pressed on purpose
    """

    work: State
    outputs: Outputs
    powered: bool = False
    silent: bool = False
    stop: bool = False


ALL_OFF = Demand(State.ISOLATED, Outputs(False, False, False, False, False, 0.0))
"""Where every act ends, whatever became of it. It needs nothing: what is de-energised always passes."""


def valves(work: State, *open_ones: str, permit: bool = False, fcv_pct: float = 0.0) -> Demand:
    """Return the demand that holds these valves open and all others shut."""
    supply, back, drain, vent = (tag in open_ones for tag in ("XV-101", "XV-102", "XV-103", "XV-104"))
    outputs = Outputs(permit, supply, back, drain, vent, fcv_pct)
    return Demand(work, outputs, powered=permit)


def found_safe(seen: Seen, tags: Mapping[str, object]) -> list[str]:
    """What is in the way of touching this rack at all: it must be found shut, off, and with a dead bus-bar."""
    return [
        f"{tag} is {_shown(seen(tag))}: {why}"
        for tag, wanted, why in (
            ("ZSC-101", is_on, "XV-101 must be proven shut"),
            ("ZSC-102", is_on, "XV-102 must be proven shut"),
            ("ZSC-103", is_on, "XV-103 must be proven shut"),
            ("XI-101", is_off, "the permit's contactor must be open"),
            ("XSY-101", is_off, "the permit's coil must be off"),
            ("XY-101", is_off, "no coil may be energised by somebody else"),
            ("XY-102", is_off, "no coil may be energised by somebody else"),
            ("XY-103", is_off, "no coil may be energised by somebody else"),
            ("XY-104", is_off, "no coil may be energised by somebody else"),
        )
        if tag in tags and not wanted(seen(tag))
    ]


def troubles(demand: Demand, seen: Seen, limits: Limits, tags: Mapping[str, object]) -> list[str]:
    """What forbids ``demand`` now; empty when it may go to the gate."""
    least_kw = limits.dead_load_fraction * limits.rating_kw
    out = [
        f"{tag} is {_shown(seen(tag))}, not below {most:g}: the feeder must be locked off"
        for tag, most in (("EV-101", limits.dead_volt), ("ET-101", least_kw), ("JT-101", least_kw))
        if not _below(seen(tag), most)
    ]
    if not demand.stop and not is_off(seen("HS-101")):
        out.append(f"HS-101 is {_shown(seen('HS-101'))}: the emergency stop is pressed, or not readable")
    if "HS-102" in tags and not is_off(seen("HS-102")):
        out.append(f"HS-102 is {_shown(seen('HS-102'))}: the lock-out key is turned: somebody works at this rack")
    out += [
        f"{tag} is {_shown(seen(tag))}: nothing is opened on a wet or unreadable detector"
        for tag in sorted(tags)
        if tag.startswith("LDT-1") and not is_off(seen(tag))
    ]
    if not _below(seen("PT-101"), limits.supply_hh_kpa):
        out.append(f"PT-101 is {_shown(seen('PT-101'))} kPa, not below {limits.supply_hh_kpa:g}")
    if not demand.powered and not is_off(seen("XI-101")):
        out.append(f"XI-101 is {_shown(seen('XI-101'))}: the permit's contactor must be open")
    return out + _own(demand, seen, limits)


def _own(demand: Demand, seen: Seen, limits: Limits) -> list[str]:
    """What this demand needs beyond what all need."""
    wanted = demand.outputs
    out = []
    if wanted.xv_101 and wanted.xv_102 and not _below(seen("ZT-101"), limits.fcv_low_pct):
        out.append(f"ZT-101 is {_shown(seen('ZT-101'))} %: FCV-101 must be shut before both valves open")
    if (wanted.xv_103 or wanted.xv_104) and not (is_on(seen("ZSC-101")) and is_on(seen("ZSC-102"))):
        out.append("XV-101 and XV-102 must be proven shut before drain or vent opens")
    return out


def through(demand: Demand, field: Evidence) -> tuple[dict[str, float], list[str]]:
    """Return what the gate lets through of ``demand``, by tag, and what it did not pass."""
    field = replace(field, entering=demand.powered)
    writes, stopped = pass_through(demand.outputs, demand.work, field)
    return writes, [
        f"the gate does not pass {tag} in the work of {demand.work} ({answer})" for tag, answer in stopped.items()
    ]


def _below(value: float | None, most: float) -> bool:
    return value is not None and value < most


def _shown(value: float | None) -> str:
    return "not known" if value is None else f"{value:g}"

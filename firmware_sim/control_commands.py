"""What the control port can be asked to do; each function is one command, its parameters the request's keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from firmware_sim.bench_config import MAX_SPEED
from firmware_sim.fault_book import FaultRefusedError
from firmware_sim.faults import TABLE
from firmware_sim.parts.cdu import CduMode
from firmware_sim.parts.makers.catalogue import MAKERS_MAPS
from firmware_sim.parts.maps import MAPS
from firmware_sim.snapshot import snapshot_of
from firmware_sim.stamps import StampKind

if TYPE_CHECKING:
    from firmware_sim.bench import Bench


MOST_KW = 1000.0


class RefusedError(ValueError):
    """A command that is understood and cannot be done."""


def snapshot(bench: Bench) -> dict[str, Any]:
    """Everything true and everything measured, now."""
    return snapshot_of(bench.bank) | {"speed": bench.speed, "lost_s": round(bench.lost_s, 3)}


def fault_add(
    bench: Bench,
    kind: str,
    rack: str | None = None,
    tag: str | None = None,
    device: str | None = None,
    place: str | None = None,
    value: float | None = None,
    at_s: float | None = None,
    for_s: float | None = None,
) -> dict[str, Any]:
    """Begin a fault; answers with it."""
    numbers = {"value": value, "at_s": at_s, "for_s": for_s}
    for key, number in numbers.items():
        if number is not None and not isinstance(number, int | float):
            raise RefusedError(f"{key} is {number!r}; it must be a number")
    try:
        fault = bench.bank.book.add(
            kind, rack=rack, tag=tag, device=device, place=place, value=value, at_s=at_s, for_s=for_s
        )
    except FaultRefusedError as error:
        raise RefusedError(str(error)) from error
    return fault.document()


def fault_list(bench: Bench) -> list[dict[str, Any]]:
    return [fault.document() for fault in bench.bank.book.faults]


def fault_clear(
    bench: Bench, ident: int | None = None, kind: str | None = None, rack: str | None = None, tag: str | None = None
) -> dict[str, Any]:
    """End the faults that fit all that is given; all of them when nothing is."""
    return {"cleared": bench.bank.book.clear(ident=ident, kind=kind, rack=rack, tag=tag)}


def fault_kinds(bench: Bench) -> list[dict[str, Any]]:
    return [kind.document() for kind in TABLE]


def speed(bench: Bench, factor: float | None = None) -> dict[str, Any]:
    """Set the speed when a factor is given; answers with the speed in force."""
    if factor is not None:
        if not isinstance(factor, int | float) or not 0.0 < factor <= MAX_SPEED:
            raise RefusedError(f"speed {factor!r}; a number above 0 and at most {MAX_SPEED:g}")
        bench.speed = float(factor)
    return {"speed": bench.speed}


def load(
    bench: Bench, rack: str, kw: float, low_kw: float | None = None, period_s: float | None = None
) -> dict[str, Any]:
    """What the rack's IT would draw with its permit on; with ``low_kw`` and ``period_s`` a square wave between the two."""
    if rack not in bench.bank.rigs:
        raise RefusedError(f"rack is {rack!r}; one of {', '.join(bench.bank.rigs)}")
    if not isinstance(kw, int | float) or not 0.0 <= kw <= MOST_KW:
        raise RefusedError(f"kw is {kw!r}; a number from 0 to {MOST_KW:g}")
    for key, number in (("low_kw", low_kw), ("period_s", period_s)):
        if number is not None and not isinstance(number, int | float):
            raise RefusedError(f"{key} is {number!r}; it must be a number")
    try:
        bench.bank.set_load(rack, float(kw), low_kw, period_s)
    except ValueError as error:
        raise RefusedError(str(error)) from error
    return {"rack": rack, "load_kw": float(kw), "low_kw": low_kw, "period_s": period_s}


def cdu_mode(bench: Bench, mode: str) -> dict[str, Any]:
    """fixed_speed, constant_dp or constant_flow."""
    try:
        chosen = CduMode[str(mode).upper()]
    except KeyError:
        raise RefusedError(f"mode is {mode!r}; one of {', '.join(m.name.lower() for m in CduMode)}") from None
    bench.bank.set_cdu_mode(chosen)
    return {"mode": chosen.name.lower()}


def stamps(
    bench: Bench,
    since: int = 0,
    rack: str | None = None,
    kinds: list[str] | None = None,
    what: str | None = None,
    limit: int = 2000,
) -> dict[str, Any]:
    """Stamps after ``since``; kinds default to register, command and fault."""
    try:
        wanted = [StampKind(kind) for kind in kinds or ("register", "command", "fault")]
    except ValueError as error:
        raise RefusedError(f"{error}; kinds are {', '.join(StampKind)}") from error
    log = bench.bank.stamps
    found = log.find(since=since, rack=rack, kinds=wanted, what=what, limit=limit)
    return {"last_seq": log.last_seq, "stamps": [stamp.document() for stamp in found]}


def watch(bench: Bench, rack: str, tag: str, below: float | None = None, above: float | None = None) -> dict[str, Any]:
    """Stamp (as a register change named ``TAG < x`` or ``TAG > x``) when a measured value crosses a limit."""
    if rack not in bench.bank.rigs or tag not in bench.bank.channels(rack):
        raise RefusedError(f"no {tag!r} in rack {rack!r}; tags are {', '.join(bench.bank.channels(rack)) or 'none'}")
    return {"watching": bench.bank.watch(rack, tag, below, above)}


def steady(bench: Bench, shut: list[str] | None = None) -> dict[str, Any]:
    """The plant's own steady flows with these racks shut, in the present mode and valve positions, L/min."""
    racks = frozenset(shut or ())
    if unknown := racks - set(bench.bank.rigs):
        raise RefusedError(f"no racks {sorted(unknown)}; racks are {', '.join(bench.bank.rigs)}")
    return {"shut": sorted(racks), "flows_lpm": bench.bank.plant.steady_flows_lpm(racks), "simulated": True}


def tidy_up(bench: Bench, rack: str | None = None) -> dict[str, Any]:
    """What people do after a leak: dry the trays and the floor of a rack (or of all), empty the sump, fill the reservoir."""
    rigs = bench.bank.rigs
    if rack is not None and rack not in rigs:
        raise RefusedError(f"rack is {rack!r}; one of {', '.join(rigs)}")
    names = list(rigs) if rack is None else [rack]
    for name in names:
        rigs[name].plant.spill.mop_up()
    bench.bank.plant.cdu.empty_sump()
    bench.bank.plant.cdu.refill_reservoir()
    bench.bank.refresh()
    return {"dried": names}


def ports(bench: Bench) -> dict[str, Any]:
    return bench.ports


def register_map(bench: Bench, device: str) -> dict[str, Any]:
    known = MAPS | MAKERS_MAPS
    if device not in known:
        raise RefusedError(f"device is {device!r}; one of {', '.join(known)}")
    return known[device].document()


def stop(bench: Bench) -> dict[str, Any]:
    bench.stopping.set()
    return {"stopping": True}


COMMANDS: dict[str, Callable[..., Any]] = {
    "snapshot": snapshot,
    "fault_add": fault_add,
    "fault_list": fault_list,
    "fault_clear": fault_clear,
    "fault_kinds": fault_kinds,
    "speed": speed,
    "load": load,
    "cdu_mode": cdu_mode,
    "stamps": stamps,
    "watch": watch,
    "steady": steady,
    "tidy_up": tidy_up,
    "ports": ports,
    "map": register_map,
    "stop": stop,
}

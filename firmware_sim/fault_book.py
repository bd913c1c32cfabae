"""The faults in force: begun by hand, by time or by a scenario, and ended the same ways."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from firmware_sim.faults import KINDS, Aim, FaultKind, kind_for

if TYPE_CHECKING:
    from firmware_sim.bank import Bank


class FaultRefusedError(ValueError):
    """A fault that cannot be injected; the message says what was wrong and what is allowed."""


@dataclass(slots=True)
class Fault:
    """One fault; exactly one of the targets is meant, by its kind.

    at_s      simulated time of its begin
    until_s   simulated time of its end, None for "until cleared"
    """

    id: int
    kind: FaultKind
    rack: str | None
    tag: str | None
    device: str | None
    place: str | None
    value: float | None
    at_s: float
    until_s: float | None
    active: bool = False

    def same_target(self, other: Fault) -> bool:
        return (self.kind, self.rack, self.tag, self.device, self.place) == (
            other.kind,
            other.rack,
            other.tag,
            other.device,
            other.place,
        )

    def document(self) -> dict[str, object]:
        return {
            "id": self.id,
            "kind": self.kind.name,
            "family": self.kind.family.value,
            "rack": self.rack,
            "tag": self.tag,
            "device": self.device,
            "place": self.place,
            "value": self.value,
            "unit": self.kind.unit,
            "at_s": self.at_s,
            "until_s": self.until_s,
            "active": self.active,
        }


class FaultBook:
    """All faults of one bank, waiting or active."""

    def __init__(self, bank: Bank) -> None:
        self._bank = bank
        self._next_id = 1
        self.faults: list[Fault] = []

    def add(
        self,
        kind: str,
        *,
        rack: str | None = None,
        tag: str | None = None,
        device: str | None = None,
        place: str | None = None,
        value: float | None = None,
        at_s: float | None = None,
        for_s: float | None = None,
    ) -> Fault:
        """Begin a fault now, or at simulated time ``at_s``; it ends ``for_s`` simulated seconds later if given.

        A second fault of the same kind on the same target replaces the first. Raises FaultRefusedError.
        """
        spec = kind_for(kind, tag)
        if spec is None:
            near = difflib.get_close_matches(kind, KINDS, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise FaultRefusedError(f"no fault {kind!r}{hint}; known: {', '.join(sorted(KINDS))}")
        if for_s is not None and for_s <= 0.0:
            raise FaultRefusedError(f"{kind}: for_s is {for_s:g} s, it must be above 0")
        start_s = self._bank.now_s if at_s is None else at_s
        fault = Fault(
            self._next_id,
            spec,
            rack,
            tag,
            device,
            place,
            spec.default if value is None else value,
            start_s,
            None if for_s is None else start_s + for_s,
        )
        if spec.aim is Aim.LEAK and place is None:
            fault.place = "header" if rack is None else "manifold"
        if problem := spec.check(self._bank, fault):
            raise FaultRefusedError(f"{kind}: {problem}")
        self._next_id += 1
        if start_s <= self._bank.now_s:
            self._begin(fault)
        self.faults.append(fault)
        return fault

    def clear(
        self, *, ident: int | None = None, kind: str | None = None, rack: str | None = None, tag: str | None = None
    ) -> int:
        """End every fault that fits all that is given (all faults when nothing is); returns how many."""
        chosen = [
            fault
            for fault in self.faults
            if (ident is None or fault.id == ident)
            and (kind is None or fault.kind.name == kind)
            and (rack is None or fault.rack == rack)
            and (tag is None or fault.tag == tag)
        ]
        for fault in chosen:
            self._end(fault)
        return len(chosen)

    def step(self) -> None:
        """Begin what is due and end what has lasted; called after every step of the plant."""
        if not self.faults:
            return
        now_s = self._bank.now_s
        for fault in tuple(self.faults):
            if not fault.active and now_s >= fault.at_s:
                self._begin(fault)
            if fault.until_s is not None and now_s >= fault.until_s:
                self._end(fault)

    def _begin(self, fault: Fault) -> None:
        for other in tuple(self.faults):
            if other.active and other is not fault and other.same_target(fault):
                self._end(other)
        fault.active = True
        fault.kind.begin(self._bank, fault)
        self._bank.note_fault(fault, 1.0)

    def _end(self, fault: Fault) -> None:
        if fault.active:
            fault.kind.end(self._bank, fault)
            self._bank.note_fault(fault, 0.0)
        self.faults.remove(fault)

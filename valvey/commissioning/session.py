"""One run through the lines of a rack: ask, do, judge, keep; line by line, so that any end keeps what was done."""

import asyncio
import platform
from collections.abc import Callable, Coroutine, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from fieldkit.bus import LinkError
from fieldkit.host import version
from fieldkit.reading import Reading, bad
from fieldkit.wallclock import BootClock
from valvey.commissioning import files
from valvey.commissioning.acts import act_on
from valvey.commissioning.answers import Answer, Asked, QuitError
from valvey.commissioning.door import found_safe
from valvey.commissioning.hand import BrokenOffError, Hand
from valvey.commissioning.judge import Verdict, judge, may_waive, orders_of, telling
from valvey.commissioning.line import TWO_WORDS, Facts, Kind, Line, tolerance
from valvey.commissioning.plan import lines_of, not_covered
from valvey.commissioning.signoff import DONE, Entry, Signature, SignOff, entry_of, resume
from valvey.config import field_digest
from valvey.config_rack import RackConfig

R = TypeVar("R")
Tell = Callable[[str], None]


class RefusedError(Exception):
    """The rack is not as it must be for this; nothing was written."""


class UnreachableError(Exception):
    """A device does not answer."""


class Session:
    """One run. Whoever makes it holds the rack's lock file.

    path    of the record
    wait_s  how long a person may take to wet a zone or press a button
    only    lines to be done, again where they are done; empty: all that are not
    """

    def __init__(
        self, config: RackConfig, person: Asked, path: Path, tell: Tell, *, wait_s: float, only: Iterable[str] = ()
    ) -> None:
        self.config, self.person, self.path, self.tell, self.wait_s = config, person, path, tell, wait_s
        self.lines, self.only = lines_of(config), frozenset(only)
        self._hand: Hand
        self._record: SignOff
        self._digest = field_digest(config)
        self._runner = asyncio.Runner()
        self._clock = BootClock(speed=config.data.speed or 1.0, simulated=config.data.simulated)
        self._entries: dict[str, Entry] = {}

    def run(self) -> SignOff:
        """Go through the lines and return the record, which is on the disk as well.

        Raises RefusedError, UnreachableError, OSError and, after a signal or where the person leaves, QuitError.
        """
        with self._runner:
            self._hand = self._do(self._make())
            try:
                self._begin()
                for line in self.lines:
                    if line.id not in self._entries and (not self.only or line.id in self.only):
                        self._line(line)
            finally:
                self._do(self._hand.close())
        return self._sign()

    def _begin(self) -> None:
        """Find the rack as it must be, and what an earlier run has left."""
        if found := files.in_the_way(self.config):
            raise RefusedError("; ".join(found))
        hand = self._hand
        self._do(hand.open())

        async def safe(_hand: Hand) -> list[str]:
            await hand.watch(0.0)
            return found_safe(hand.seen, self.config.data.tags)

        try:
            found = self._do(hand.act(safe))
            if silent := hand.silent():
                raise UnreachableError("; ".join(silent))
            found = found or self._do(hand.others_write())
        except LinkError as error:
            raise UnreachableError(error.text) from None
        except BrokenOffError as error:
            raise QuitError if error.told else RefusedError(str(error)) from None
        if found:
            raise RefusedError("; ".join(found))
        devices = {bus: self._do(hand.texts(bus)) for bus in self.config.data.buses}
        try:
            old = files.find_record(self.path)
            kept = resume(old, self._digest, devices, self.lines, self.only)
        except ValueError as error:
            old, kept = None, resume(None, "", {}, (), ())
            kept.void = f"the record {error}"
        if kept.void:
            self.tell(f"nothing of the earlier record counts: {kept.void}; it is kept as {files.set_aside(self.path)}")
        elif kept.entries:
            self.tell(f"{len(kept.entries)} of {len(self.lines)} lines are done already, by {self.path}")
        self._entries = kept.entries
        self._record = SignOff(
            site=self.config.data.site,
            rack=self.config.data.rack,
            simulated=self.config.data.simulated,
            digest=self._digest,
            versions={"valvey": version(), "python": platform.python_version()},
            devices=devices,
            begun=_now() if old is None or kept.void else old.begun,
            not_covered=not_covered(self.config),
            signed=None,
        )
        if old is not None and not kept.void and len(kept.entries) == len(self.lines):
            self._record = self._record.model_copy(update={"signed": old.signed})
        self._keep()

    def _line(self, line: Line) -> None:
        """Bring one line to its end, and keep it."""
        try:
            said, measured = self._look(line) if line.kind in _LOOKING else self._act(line)
        except BrokenOffError as error:
            verdict = Verdict.OPEN if error.told else Verdict.FAIL
            self._note(line, {}, verdict, str(error))
            if error.told:
                raise QuitError from None
            return
        if said.waive:
            if not may_waive(line):
                self._note(line, measured, Verdict.OPEN, f"may not be waived ({said.waive})")
            else:
                self._note(line, measured, Verdict.WAIVED, said.waive)
        elif said.later:
            self._note(line, measured, Verdict.OPEN, "left for later")
        else:
            self._note(line, measured, *judge(line, measured))
        if self._hand.told_to_stop:
            raise QuitError

    def _act(self, line: Line) -> tuple[Answer, Facts]:
        said = self.person.ask(line, "")
        if said.yes is not True:
            return (said if said.waive else Answer()), {}
        if line.subject in {"XV-103", "XV-104"} and files.forget_contents(self.config):
            self.tell("the rack's memory now says: contents unknown, not tested")
        return said, self._do(act_on(line, self._hand, self.tell, self.wait_s))

    def _look(self, line: Line) -> tuple[Answer, Facts]:
        """Show what is read beside what a person reads off the device."""
        if line.kind is Kind.DEVICE:
            return self._device(line)
        if line.kind is Kind.CDU:
            return self._cdu(line)
        bus = line.subject if line.kind is Kind.ORDER else self.config.data.tags[line.subject].bus
        point = self._telling_point(bus) if line.kind is Kind.ORDER else self.config.data.tags[line.subject].point
        unit = str(self.config.profiles[bus].points[point].reading_unit)
        first = self._read(bus, point)
        shown = f"{first.value:g} {unit}" if first.value is not None else f"nothing: {first.reason}"
        said = self.person.ask(line, f"{bus} {point} reads {shown}")
        then = self._read(bus, point)
        value = said.value if said.value is not None else then.value if said.yes else None
        allowed = said.tolerance if said.tolerance is not None else tolerance(unit, value or 0.0)
        facts: dict[str, Any] = {
            "point": point,
            "reading": then.value,
            "unit": unit,
            "said": value,
            "tolerance": allowed,
        }
        facts |= {"same": said.yes, "quality": str(then.reason or then.quality)}
        if line.kind is Kind.ORDER and then.value is not None:
            facts["orders"] = self._orders(bus, point, then.value)
        return said, facts

    def _device(self, line: Line) -> tuple[Answer, Facts]:
        bus = line.subject
        texts = self._record.devices[bus]
        try:
            identity, matches = self._do(self._hand.field.devices[bus].identify())
        except LinkError as error:
            raise BrokenOffError(error.text) from None
        told = ", ".join(f"{name} {word}" for name, word in texts.items()) or "tells nothing of itself"
        config = self.config.data.buses[bus]
        said = self.person.ask(line, f"{config.way} unit {config.unit}: {told}")
        return said, {"identity": identity, "matches": matches, "said": said.yes is True}

    def _cdu(self, line: Line) -> tuple[Answer, Facts]:
        """The CDU's mode, where its device tells it, and what a person has seen of it."""
        place = self.config.data.tags.get("PT-201")
        has_mode = place is not None and "mode" in self.config.profiles[place.bus].points
        mode = self._read(place.bus, "mode").value if place is not None and has_mode else None
        said = self.person.ask(line, f"the CDU's mode reads {'nothing' if mode is None else f'{mode:g}'}")
        return said, {"mode": mode, "said": said.value}

    def _telling_point(self, bus: str) -> str:
        """The point of a device whose present value shows its word order best: one that the rack uses, if it does."""
        profile = self.config.profiles[bus]
        used = {place.point for place in self.config.inputs.values() if place.bus == bus}
        rank: dict[str, tuple[bool, bool, float]] = {}
        for name, point in profile.points.items():
            if point.type not in TWO_WORDS or point.writable:
                continue
            value = self._read(bus, name).value
            orders = {} if value is None else orders_of(point, profile.order_of(point), value)
            tells = telling(orders, str(profile.order_of(point)), tolerance(str(point.reading_unit), value or 0.0))
            rank[name] = (tells, name in used, abs(value or 0.0))
        return max(rank, key=lambda name: rank[name])

    def _orders(self, bus: str, point: str, value: float) -> dict[str, float | None]:
        profile = self.config.profiles[bus]
        return orders_of(profile.points[point], profile.order_of(profile.points[point]), value)

    def _read(self, bus: str, point: str) -> Reading:
        device = self._hand.field.devices[bus]
        try:
            return self._do(device.read_now([point]))[point]
        except LinkError as error:
            return bad(point, device.profile.points[point].reading_unit, self._clock.now_s(), error.reason)

    def _note(self, line: Line, measured: Facts, verdict: Verdict, why: str) -> None:
        self._entries[line.id] = entry_of(line, measured, verdict, why, self.person.name, _now())
        self._keep()
        self.tell(f"{line.id}: {verdict.upper()}{f': {why}' if why else ''}")

    def _sign(self) -> SignOff:
        """Have the whole signed, once all of it is done."""
        done = all((one := self._entries.get(line.id)) is not None and one.verdict in DONE for line in self.lines)
        if done and self._record.signed is None and self.person.sign():
            self._record = self._record.model_copy(update={"signed": Signature(by=self.person.name, at=_now())})
            self._keep()
        return self._record

    def _keep(self) -> None:
        entries = tuple(self._entries[line.id] for line in self.lines if line.id in self._entries)
        self._record = self._record.model_copy(update={"entries": entries})
        files.keep(self._record, self.path)

    async def _make(self) -> Hand:
        return Hand(self.config, self._clock, self.tell)

    def _do(self, work: Coroutine[Any, Any, R]) -> R:
        """Run one piece of work; between two of them nothing runs, and nothing is energised."""
        return self._runner.run(work)


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"


_LOOKING = frozenset({Kind.DEVICE, Kind.POINT, Kind.ORDER, Kind.CDU})

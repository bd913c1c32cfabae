"""A device on a bus: reads its spans lane by lane into readings, and writes its outputs.

Field trouble never raises out of ``poll``: it becomes BAD readings with a reason, for exactly the tags that the failed
request would have brought. No reading keeps an old number under a new time.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from fieldkit.bus import GATEWAY_SAYS_NOBODY, Bus, LinkError
from fieldkit.clock import Clock
from fieldkit.faulted import FaultBits
from fieldkit.plausibility import Plausibility, rules_of
from fieldkit.point import PointType
from fieldkit.profile import Profile
from fieldkit.pulse import Pulse
from fieldkit.reading import Reading, Reason
from fieldkit.spans import Span, halves, plan, want
from fieldkit.words import Decoder, text
from fieldkit.write_block import as_read, block_of

ILLEGAL_ADDRESS = 2
SPLIT_AFTER = 3
"""Times in a row that a merged read has to be refused before it is asked in two halves from then on."""
DORMANT_AFTER = 10
"""Unanswered requests in a row after which a device is only probed."""
_SILENT = frozenset({Reason.TIMEOUT, Reason.WRONG_ID})
_LANES = ("fast", "normal", "slow")

Notice = Callable[[str, str], None]
"""Called with the device's name and what changed, once per change of state, never once per failure."""


@dataclass(slots=True)
class DeviceCounters:
    """Totals since start."""

    polls: int = 0
    good_spans: int = 0
    failed_spans: Counter[Reason] = field(default_factory=Counter)
    probes: int = 0
    splits: int = 0
    writes: int = 0
    failed_writes: int = 0


class _Group:
    """One span with its decoder and what happened to it last."""

    def __init__(self, span: Span, pulse_tag: str) -> None:
        self.span = span
        self.decoder = Decoder(span)
        tags = [item.tag for item in span.wanted]
        self.pulse_at = tags.index(pulse_tag) if pulse_tag in tags else None
        self.refusals = 0
        self.failing = False


class Device:
    """One Modbus unit that a profile describes.

    tags       tag → (point of the profile, lane); ``readings`` gets every one of them, NEVER_READ at first
    write_bus  the connection for writes and their read-back; None = the one for reads
    norms      tag → normal band in its unit, for the first polls after a reconnect (``fieldkit.plausibility``)
    notice     see ``Notice``
    probe_s    time between attempts while the device is dormant: 1 s where a trip waits for it, more behind a gateway
    """

    def __init__(
        self,
        name: str,
        unit: int,
        profile: Profile,
        bus: Bus,
        tags: Mapping[str, tuple[str, str]],
        readings: dict[str, Reading],
        clock: Clock,
        *,
        write_bus: Bus | None = None,
        norms: Mapping[str, tuple[float, float]] | None = None,
        notice: Notice | None = None,
        probe_s: float = 1.0,
    ) -> None:
        self.name = name
        self.unit = unit
        self.profile = profile
        self.counters = DeviceCounters()
        self.last_error = "never read"
        self.dormant = False
        self._bus, self._write_bus = bus, write_bus if write_bus is not None else bus
        self._readings, self._clock, self._notice = readings, clock, notice
        self._probe_s, self._next_probe_s = probe_s, 0.0
        self._silent_in_a_row, self._lost = 0, False
        self._pulse, self.frozen = Pulse(), False
        self._lanes: dict[str, list[_Group]] = {lane: [] for lane in _LANES}
        wanted = [want(profile, tag, point, lane) for tag, (point, lane) in tags.items()]
        places = {tag: point for tag, (point, _) in tags.items()}
        self._judge = Plausibility(rules_of(profile, places, norms if norms is not None else {}))
        self._pulse_tag = f"{name}/heartbeat"
        if wanted and profile.heartbeat is not None:
            quickest = min((w.lane for w in wanted), key=_LANES.index)
            wanted.append(want(profile, self._pulse_tag, profile.heartbeat, quickest))
        self._faults = FaultBits(name, profile, tags)
        self._hidden = f"{name}/"
        for span in plan(profile, [*wanted, *self._faults.wanted]):
            self._lanes[span.lane].append(_Group(span, self._pulse_tag))
        for groups in self._lanes.values():
            groups.sort(key=lambda group: not self._faults.carried_by(item.tag for item in group.span.wanted))
            for group in groups:
                self._publish(group.decoder.bad(clock.now_s(), Reason.NEVER_READ))

    @property
    def lanes(self) -> tuple[str, ...]:
        """The lanes in which this device has something to read."""
        return tuple(lane for lane, groups in self._lanes.items() if groups)

    async def poll(self, lane: str) -> bool:
        """Read every span of ``lane``; True when all came. A dormant device is asked for one span, seldom."""
        groups = self._lanes[lane]
        if self.dormant:
            if self._clock.now_s() < self._next_probe_s:
                return False
            self.counters.probes += 1
        self.counters.polls += 1
        good = True
        for group in tuple(groups):
            came = await self._read(group, groups)
            good = good and came
            if not came and self.dormant:
                break
        return good

    async def write(self, values: Mapping[str, float], *, read_back: bool = True, persistent: bool = False) -> float:
        """Write points, given in their units, as one request; return the monotonic time of its acknowledgement.

        The points must lie side by side in one table: a command is done whole or not at all. Acknowledged means the
        echo agrees and, with ``read_back``, the registers read the same afterwards (a momentary command is not read
        back: the device clears it). Nothing is repeated here.
        Raises EncodeError or ValueError before anything is sent, LinkError after.
        """
        table, address, words = block_of(self.profile, self.name, values, persistent=persistent)
        self.counters.writes += 1
        read_back = read_back and not any(self.profile.points[name].momentary for name in values)
        try:
            if len(words) == 1 and self.profile.may_write(table, 1) == "multiple":
                await self._write_bus.write(self.unit, table, address, words, multiple=True)
            else:
                await self._write_bus.write(self.unit, table, address, words)
            if read_back:
                seen = await self._write_bus.read(self.unit, table, address, len(words))
                if seen != as_read(table, words):
                    cause = f"wrote {words} to {table} {address} of {self.name}, read back {seen.hex(' ')}"
                    raise LinkError(Reason.ECHO, cause)  # ruff: ignore[raise-within-try]
        except LinkError as error:
            self.counters.failed_writes += 1
            self.last_error = error.text
            raise
        return self._clock.now_s()

    async def read_now(self, points: Iterable[str]) -> dict[str, Reading]:
        """Read points outside the lanes, by point name: for read-back, commissioning and the command line.

        Judged by their fault bits as in the lanes. Raises LinkError at the first request that fails.
        """
        wanted = [want(self.profile, name, name, "slow") for name in points]
        faults = FaultBits(self.name, self.profile, {one.tag: (one.tag, "slow") for one in wanted})
        out: dict[str, Reading] = {}
        for span in plan(self.profile, [*wanted, *faults.wanted]):
            data = await self._bus.read(self.unit, span.table, span.address, span.count)
            out.update((r.tag, r) for r in Decoder(span).decode(data, self._clock.now_s()))
        faults.note(out.values())
        return {one.tag: faults(out[one.tag]) for one in wanted}

    async def identify(self) -> tuple[str | float | None, bool]:
        """Return what the device says it is and whether the profile expects that; (None, True) without an identity."""
        identity = self.profile.identity
        if identity is None:
            return None, True
        point = self.profile.points[identity.point]
        if point.type is PointType.STRING:
            found: str | float | None = text(await self._bus.read(self.unit, point.table, point.address, point.words))
        else:
            found = (await self.read_now([identity.point]))[identity.point].value
        return found, found == identity.expect

    async def texts(self) -> dict[str, str]:
        """Return what the device says of itself in words, by point: model, firmware, serial. Raises LinkError."""
        out: dict[str, str] = {}
        for name, point in self.profile.points.items():
            if point.type is PointType.STRING:
                found = text(await self._bus.read(self.unit, point.table, point.address, point.words))
                out[name] = "" if found is None else found
        return out

    async def warm(self) -> None:
        """Use both connections once, without writing: a first request is slow in any runtime. Raises LinkError."""
        points = self.profile.points.values()
        first = next(iter(points))
        await self._bus.read(self.unit, first.table, first.address, first.words)
        output = next((p for p in points if p.writable), None)
        if output is not None and self._write_bus is not self._bus:
            await self._write_bus.read(self.unit, output.table, output.address, output.words)

    async def close(self) -> None:
        await self._bus.close()
        if self._write_bus is not self._bus:
            await self._write_bus.close()

    async def _read(self, group: _Group, groups: list[_Group]) -> bool:
        span = group.span
        try:
            data = await self._bus.read(self.unit, span.table, span.address, span.count)
        except LinkError as error:
            unread = group.decoder.bad(self._clock.now_s(), error.reason)
            self._faults.note(unread)
            self._publish(unread)
            self._failed(group, groups, error)
            return False
        now_s = self._clock.now_s()
        if self._lost:
            self._lost = False
            self._judge.reconnected()
        readings = group.decoder.decode(data, now_s)
        self._faults.note(readings)
        if group.pulse_at is not None:
            self._beat(self._pulse.note(readings[group.pulse_at]))
        if self.frozen:
            readings = group.decoder.bad(now_s, Reason.STUCK)
        else:
            readings = [self._judge(self._faults(reading)) for reading in readings]
        self._publish(readings)
        self._succeeded(group)
        return True

    def _publish(self, readings: Iterable[Reading]) -> None:
        for reading in readings:
            if not reading.tag.startswith(self._hidden):
                self._readings[reading.tag] = reading

    def _beat(self, frozen: bool) -> None:
        if frozen != self.frozen:
            self.frozen = frozen
            self._tell("its heartbeat stands still: what it answers is a frozen copy" if frozen else "its heart beats")

    def _succeeded(self, group: _Group) -> None:
        self.counters.good_spans += 1
        self._silent_in_a_row = 0
        group.refusals = 0
        if self.dormant:
            self.dormant = False
            self._tell("answers again")
        if group.failing:
            group.failing = False
            self._tell(f"{group.span.table} {group.span.address} is read again")

    def _failed(self, group: _Group, groups: list[_Group], error: LinkError) -> None:
        self.counters.failed_spans[error.reason] += 1
        self.last_error = error.text
        if not group.failing:
            group.failing = True
            self._tell(error.text)
        self._lost = self._lost or error.reason is Reason.LINK_DOWN
        if not error.sent:
            return
        if error.reason in _SILENT or error.code in GATEWAY_SAYS_NOBODY:
            self._silent_in_a_row += 1
            if self._silent_in_a_row >= DORMANT_AFTER:
                self._next_probe_s = self._clock.now_s() + self._probe_s
                if not self.dormant:
                    self.dormant = self._lost = True
                    self._tell(f"dormant: probed every {self._probe_s:g} s")
        elif error.reason is not Reason.LINK_DOWN:
            self._silent_in_a_row = 0
        group.refusals = group.refusals + 1 if error.code == ILLEGAL_ADDRESS else 0
        if group.refusals >= SPLIT_AFTER and len(parts := halves(group.span)) > 1:
            at = groups.index(group)
            groups[at : at + 1] = [_Group(part, self._pulse_tag) for part in parts]
            self.counters.splits += 1
            span = group.span
            self._tell(f"{span.table} {span.address} count {span.count} is refused whole: asked in two from now on")

    def _tell(self, what: str) -> None:
        if self._notice is not None:
            self._notice(self.name, what)

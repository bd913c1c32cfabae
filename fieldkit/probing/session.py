"""One probe of one bus: who answers, what it is, what it reads, where its map ends. Reads only, unless told to write."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fieldkit.pdu import write_request
from fieldkit.point import REGISTER_TABLES, Point, Table
from fieldkit.probing import guesses, matching, replies
from fieldkit.probing.asker import Asker, Refused
from fieldkit.probing.delays import Delays
from fieldkit.probing.extent import Extent, explore
from fieldkit.profile import Profile
from fieldkit.reading import Reading
from fieldkit.words import EncodeError, encode

Told = Callable[[str], None]
_KNOCKS = (b"\x03\x00\x00\x00\x01", b"\x04\x00\x00\x00\x01")
_MORE_KNOCKS = (b"\x03\x00\x00\x00\x01", b"\x01\x00\x00\x00\x01", b"\x02\x00\x00\x00\x01", b"\x2b\x0e\x01\x00", b"\x11")
"""Tried on a unit that was named alone: some devices are silent to what they do not serve."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What to find out.

    units     to look for
    profiles  known ones, to be compared with
    profile   the one that the person says it is, None = the one that matches
    places    tables and address to read every way
    times     how often one read is repeated for the histogram
    ranges    table, first, last to be explored
    """

    units: Sequence[int]
    profiles: Mapping[str, Profile]
    profile: str | None = None
    places: Sequence[tuple[tuple[str, ...], int]] = ()
    expected: guesses.Expected | None = None
    times: int = 0
    ranges: Sequence[tuple[str, int, int]] = ()
    compare: bool = True


@dataclass(slots=True)
class Unit:
    """What was found out about one unit."""

    unit: int
    objects: dict[str, str] = field(default_factory=dict)
    server_id: str | None = None
    matches: list[matching.Match] = field(default_factory=list)
    profile: str | None = None
    reads: list[dict[str, Any]] = field(default_factory=list)
    fitting: list[guesses.Guess] = field(default_factory=list)
    extents: dict[str, Extent] = field(default_factory=dict)
    conflicts: list[dict[str, Any]] = field(default_factory=list)
    repeated: Delays | None = None

    def document(self, asker: Asker) -> dict[str, Any]:
        return {
            "unit": self.unit,
            "answers_as": asker.other_units.get(self.unit, self.unit),
            "identification": self.objects or None,
            "server_id": self.server_id,
            "profile": self.profile,
            "matches": [one.document() for one in self.matches],
            "reads": self.reads,
            "fits": [one.document() for one in self.fitting],
            "extents": [{"table": table, **one.document()} for table, one in self.extents.items()],
            "conflicts": self.conflicts,
            "repeated": None if self.repeated is None else self.repeated.document(),
        }

    def decisions(self) -> dict[str, str | None]:
        return {one["conflict"]: one["decided"] for one in self.conflicts}


class Session:
    """Asks one bus. ``told`` hears of progress, for people."""

    def __init__(self, asker: Asker, asked: Asked, told: Told) -> None:
        self._asker, self._asked, self._told = asker, asked, told
        self._seen: dict[tuple[int, str, int, int], bytes | Refused] = {}

    async def run(self) -> list[Unit]:
        """Return every unit that answers. Raises UnreachableError when there is no way to the bus."""
        out: list[Unit] = []
        await self._asker.open()
        for number in self._asked.units:
            if not await self._answers(number):
                self._told(f"unit {number}: silent")
                continue
            self._told(f"unit {number}: answers")
            out.append(await self._look(Unit(number)))
        return out

    async def _answers(self, unit: int) -> bool:
        knocks = _KNOCKS + _MORE_KNOCKS if len(self._asked.units) == 1 else _KNOCKS
        for knock in knocks:
            found = await self._asker.ask(unit, knock)
            if isinstance(found, bytes) or not found.silent:
                return True
        return False

    async def _look(self, one: Unit) -> Unit:
        asked = self._asked
        await self._identify(one)
        if asked.compare:
            await self._compare(one)
        identified = [match.profile for match in one.matches if match.identity]
        likely = [match.profile for match in one.matches if match.likely]
        one.profile = asked.profile or next(iter(identified), likely[0] if len(likely) == 1 else None)
        for tables, address in asked.places:
            await self._read_every_way(one, tables, address)
        if asked.expected is not None and asked.places:
            tables, address = asked.places[0]
            one.fitting = guesses.best(one.fitting, (tables[0], address))
        for table, first, last in asked.ranges:
            one.extents[table] = await self._explore(one.unit, table, first, last)
        if one.profile is not None and asked.compare:
            await self._decide(one, asked.profiles[one.profile])
        if asked.times:
            one.repeated = await self._repeat(one)
        return one

    async def _identify(self, one: Unit) -> None:
        for category in (replies.BASIC, replies.REGULAR):
            more: int | None = 0 if category == replies.BASIC else 3
            for _ in range(8):
                if more is None:
                    break
                found = await self._asker.ask(one.unit, replies.ask_objects(category, more))
                said = replies.objects(found) if isinstance(found, bytes) else None
                if said is None:
                    more = None
                    break
                for number, text in said.texts.items():
                    one.objects[replies.OBJECTS.get(number, f"object_{number}")] = text
                more = said.more
            if not one.objects:
                break
        found = await self._asker.ask(one.unit, bytes((replies.REPORT,)))
        one.server_id = replies.server_id(found) if isinstance(found, bytes) else None

    async def _compare(self, one: Unit) -> None:
        known = self._asked.profiles
        named = [self._asked.profile] if self._asked.profile is not None else list(known)
        unknown: list[str] = []
        for name in named:
            profile = known[name]
            place = matching.identity_read(profile)
            if place is None:
                unknown.append(name)
                continue
            data = await self._read(one.unit, *place)
            if isinstance(data, Refused):
                continue
            fits, says = matching.identified(profile, data)
            if fits or self._asked.profile is not None:
                sound, points, texts = await self._sound(one.unit, profile)
                one.matches.append(matching.Match(name, sound, points, fits, says, texts))
        if not any(match.identity for match in one.matches):
            for name in unknown:
                sound, points, texts = await self._sound(one.unit, known[name])
                match = matching.Match(name, sound, points, None, None, texts)
                if match.likely or self._asked.profile is not None:
                    one.matches.append(match)
        one.matches.sort(key=lambda match: (not match.identity, -match.sound / max(1, match.points), match.profile))

    async def _sound(self, unit: int, profile: Profile) -> tuple[int, int, dict[str, str]]:
        """How many points of a profile read GOOD, of how many, and which of them may be text; ends when too many do not."""
        spans = matching.spans_of(profile)
        points = sum(len(span.wanted) for span in spans)
        sound, missed, texts = 0, 0, dict[str, str]()
        for span in spans:
            data = await self._read(unit, span.table, span.address, span.count)
            if not isinstance(data, Refused):
                good = matching.sound({reading.tag: reading for reading in matching.decoded(span, data)})
                sound, missed = sound + good, missed + len(span.wanted) - good
                texts |= matching.texts(span, data)
            else:
                missed += len(span.wanted)
            if self._asked.profile is None and missed > (1 - matching.LIKELY) * points:
                break
        return sound, points, texts

    async def _read(self, unit: int, table: str, address: int, count: int) -> bytes | Refused:
        """Read once in a session: profiles share registers."""
        key = (unit, str(table), address, count)
        if key not in self._seen:
            self._seen[key] = await self._asker.read(*key)
        return self._seen[key]

    async def _read_every_way(self, one: Unit, tables: tuple[str, ...], address: int) -> None:
        for table, at in guesses.places(tables, address, beside=self._asked.expected is not None):
            words = Table(table) in REGISTER_TABLES
            data = await self._asker.read(one.unit, table, at, 2 if words and at < 0xFFFF else 1)
            if isinstance(data, Refused) and words:
                data = await self._asker.read(one.unit, table, at, 1)
            row: dict[str, Any] = {"table": table, "address": at, "error": None, "ways": [], "bits": None, "text": None}
            if isinstance(data, Refused):
                row["error"] = data.text
            elif not words:
                row["bits"] = [0] if data[0] & 1 else []
            else:
                found = guesses.guesses(table, at, data, self._asked.expected)
                one.fitting += [guess for guess in found if guess.fits]
                row |= {"hex": data.hex(" ", 2), "ways": [guess.document() for guess in found]}
                row |= {"bits": guesses.bits(data), "text": guesses.as_text(data)}
            one.reads.append(row)

    async def _explore(self, unit: int, table: str, first: int, last: int) -> Extent:
        explorer = explore(first, last, matching.longest_read(table))
        block = next(explorer)
        while True:
            data = await self._asker.read(unit, table, block.address, block.count)
            try:
                block = explorer.send(isinstance(data, bytes))
            except StopIteration as end:
                found: Extent = end.value
                return found

    async def _decide(self, one: Unit, profile: Profile) -> None:
        for name, conflict in profile.conflicts.items():
            values: dict[str, dict[str, float | None]] = {}
            ways = matching.alternatives(profile, name)
            for way in ways:
                values[way.name] = {}
                for span in way.spans:
                    data = await self._read(one.unit, span.table, span.address, span.count)
                    readings = [] if isinstance(data, Refused) else matching.decoded(span, data)
                    found = {reading.tag: reading.value for reading in readings}
                    values[way.name] |= {item.tag: found.get(item.tag) for item in span.wanted}
            row = {"conflict": name, "about": conflict.about, "used": conflict.used}
            row["how"] = conflict.decide.text
            row_ways = [{"name": way.name, "says": way.says, "values": values[way.name]} for way in ways]
            decided = matching.decision(profile, name, values)
            suggests = None if decided is not None else matching.suggestion(values)
            one.conflicts.append({**row, "decided": decided, "suggests": suggests, "alternatives": row_ways})

    async def _repeat(self, one: Unit) -> Delays:
        table, address = "holding", 0
        if self._asked.places:
            (table, *_), address = self._asked.places[0]
        all_delays, self._asker.delays = self._asker.delays, Delays()
        for _ in range(self._asked.times):
            await self._asker.read(one.unit, table, address, 1)
        own, self._asker.delays = self._asker.delays, all_delays
        return own


@dataclass(frozen=True, slots=True)
class Written:
    """A write that was done. ``reads`` is what the point reads afterwards, None for a BAD one or one that clears itself."""

    point: str
    value: float
    error: str | None
    reads: float | None


def why_not(profile: Profile, name: str, value: float) -> str | None:
    """Return why a write is refused whoever asks; None when it may be done."""
    point = profile.points[name]
    if point.persistent:
        return f"{name} is kept in memory that wears out: probe never writes it"
    try:
        encode(point, value, profile.order_of(point))
    except EncodeError as error:
        return str(error)
    if profile.may_write(point.table, point.words) is None:
        return f"no function of the device writes {point.words} of {point.table}"
    return None


async def write(asker: Asker, unit: int, profile: Profile, name: str, value: float) -> Written:
    """Write one point, once, and read it back. Raises ValueError for what ``why_not`` refuses."""
    if (why := why_not(profile, name, value)) is not None:
        raise ValueError(why)
    point = profile.points[name]
    words = encode(point, value, profile.order_of(point))
    multiple = profile.may_write(point.table, point.words) == "multiple"
    refused = await asker.write(write_request(unit, point.table, point.address, words, multiple=multiple))
    if refused is not None:
        return Written(name, value, refused.text, None)
    return Written(name, value, None, await _read_back(asker, unit, profile, name, point))


async def _read_back(asker: Asker, unit: int, profile: Profile, name: str, point: Point) -> float | None:
    span = matching.span_of(point, name, profile.order_of(point))
    data = await asker.read(unit, span.table, span.address, span.count)
    readings: list[Reading] = [] if isinstance(data, Refused) else matching.decoded(span, data)
    return readings[0].value if readings else None

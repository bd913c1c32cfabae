"""Which of the known profiles a device may be, and what decides a profile's conflicts: judged from what was read. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fieldkit.point import REGISTER_TABLES, Point, PointType, Table, WordOrder
from fieldkit.profile import Profile, choose
from fieldkit.reading import Quality, Reading
from fieldkit.spans import Span, Wanted, plan, want
from fieldkit.words import Decoder, text

LIKELY = 0.8
"""Part of a profile's points that has to be there and sound before a device without an identity may be it."""


@dataclass(frozen=True, slots=True)
class Match:
    """One profile against one device.

    sound, points  points that read GOOD, and how many the profile has that are no texts
    identity       True: the device says that it is this one; False: it says something else; None: cannot be asked
    says           what it says
    texts          points that read GOOD although every byte of theirs is printable: text that a wrong map takes for numbers
    """

    profile: str
    sound: int
    points: int
    identity: bool | None
    says: str | float | None
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def likely(self) -> bool:
        if self.identity is not None:
            return self.identity
        return self.points > 0 and self.sound >= LIKELY * self.points

    def document(self) -> dict[str, object]:
        return {
            "profile": self.profile,
            "likely": self.likely,
            "identity": self.identity,
            "says": self.says,
            "points_sound": self.sound,
            "points": self.points,
            "reads_as_text": dict(self.texts),
        }


def spans_of(profile: Profile) -> tuple[Span, ...]:
    """Return the reads that bring every number and bit of a profile; each tag is its point's name."""
    names = [name for name, point in profile.points.items() if point.type is not PointType.STRING]
    return plan(profile, (want(profile, name, name, "once") for name in names))


def decoded(span: Span, data: bytes) -> list[Reading]:
    """Return what the bytes of one reply say."""
    return Decoder(span).decode(data, 0.0)


def texts(span: Span, data: bytes) -> dict[str, str]:
    """Return the numbers of a reply that read GOOD and whose bytes are all printable, with the text that they make."""
    out: dict[str, str] = {}
    for item, reading in zip(span.wanted, decoded(span, data), strict=True):
        first = 2 * (item.point.address - span.address)
        raw = data[first : first + 2 * item.point.words]
        in_word = span.table in REGISTER_TABLES and item.point.type is not PointType.BIT
        if in_word and reading.quality is Quality.GOOD and all(0x20 < byte < 0x7F for byte in raw):
            out[item.tag] = raw.decode("ascii")
    return out


def span_of(point: Point, name: str, order: WordOrder) -> Span:
    """Return the read that brings one point alone."""
    return Span("once", point.table, point.first, point.after - point.first, (Wanted(name, point, order, "once"),))


def identity_read(profile: Profile) -> tuple[Table, int, int] | None:
    """Return table, address and count of what says who the device is; None when nothing does."""
    if profile.identity is None:
        return None
    point = profile.points[profile.identity.point]
    return point.table, point.first, point.after - point.first


def identified(profile: Profile, data: bytes) -> tuple[bool, str | float | None]:
    """Return whether the bytes of ``identity_read`` are the profile's device, and what they say."""
    assert profile.identity is not None  # ruff: ignore[assert] - identity_read() told where to read
    point = profile.points[profile.identity.point]
    says: str | float | None
    if point.type is PointType.STRING:
        says = text(data)
        return says == profile.identity.expect, says
    (reading,) = decoded(span_of(point, profile.identity.point, profile.order_of(point)), data)
    says = reading.value
    return says is not None and says == profile.identity.expect, says


def sound(readings: Mapping[str, Reading]) -> int:
    return sum(reading.quality is Quality.GOOD for reading in readings.values())


@dataclass(frozen=True, slots=True)
class Alternative:
    """A conflict's alternative as it can be read: where, as what. ``spans`` is empty when it is no sound profile."""

    conflict: str
    name: str
    says: str
    spans: tuple[Span, ...]


def alternatives(profile: Profile, conflict: str) -> list[Alternative]:
    """Return how each alternative of a conflict would read the points that it is about (texts left out)."""
    about = profile.conflicts[conflict]
    names = (about.decide.point,) if about.decide.point is not None else about.points
    out: list[Alternative] = []
    for name, one in about.alternatives.items():
        try:
            chosen = choose(profile, conflict, name)
        except ValueError:
            out.append(Alternative(conflict, name, one.says, ()))
            continue
        points = [(n, chosen.points[n]) for n in names if chosen.points[n].type is not PointType.STRING]
        out.append(Alternative(conflict, name, one.says, tuple(span_of(p, n, chosen.order_of(p)) for n, p in points)))
    return out


def decision(profile: Profile, conflict: str, values: Mapping[str, Mapping[str, float | None]]) -> str | None:
    """Return the one alternative under which the deciding point reads as it must; None: a person has to compare.

    ``values`` is alternative -> point -> value, None for a BAD one.
    """
    decide = profile.conflicts[conflict].decide
    if decide.point is None or decide.within is None:
        return None
    low, high = decide.within
    fitting = [
        name for name, read in values.items() if (value := read.get(decide.point)) is not None and low <= value <= high
    ]
    return fitting[0] if len(fitting) == 1 else None


def suggestion(values: Mapping[str, Mapping[str, float | None]]) -> str | None:
    """Return the one alternative under which every point has a value, when under no other one has; None otherwise."""
    whole = [name for name, read in values.items() if read and None not in read.values()]
    some = [name for name, read in values.items() if any(value is not None for value in read.values())]
    return whole[0] if len(whole) == 1 and some == whole else None


def with_decisions(profile: Profile, decisions: Mapping[str, str | None]) -> Profile:
    """Return the profile as the device decided it. Raises ValueError when two decisions together are no sound profile."""
    for conflict, name in decisions.items():
        if name is not None:
            profile = choose(profile, conflict, name)
    return profile


def longest_read(table: str) -> int:
    """Registers or bits of one read that the protocol allows."""
    return 125 if Table(table) in REGISTER_TABLES else 2000

"""What the tests of the safety functions share: looking into a paper rack, and feeding it what devices say that lie.

The lies are real bytes: they go through the shipped profiles, the project's decoder, its heartbeat and its
plausibility filter before the core sees them.
"""

import struct
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from fieldkit import yamlfile
from fieldkit.plausibility import Plausibility, Rule
from fieldkit.profile import Profile
from fieldkit.pulse import Pulse
from fieldkit.reading import Quality, Reading, Reason
from fieldkit.spans import Span, want
from fieldkit.units import Unit
from fieldkit.words import Decoder
from tests.plant import PERIOD_S, PaperRack, limits
from valvey.core.facts import Fact, FactKind
from valvey.core.limits import Limits
from valvey.core.memory import Memory
from valvey.core.verdict import Judgement, Verdict
from valvey.core.view import View

PROFILES = Path(__file__).parents[3] / "configs" / "profiles"
_PROFILE_OF = {
    "FT": "racky_loop-transmitters",
    "TT": "racky_loop-transmitters",
    "PT": "racky_loop-transmitters",
    "ET": "racky_busbar-meter",
    "EV": "racky_busbar-meter",
    "LD": "racky_leak-panel",
    "ZS": "racky_valve-controller",
    "XI": "racky_valve-controller",
    "HS": "racky_valve-controller",
}
TRANSMITTERS = ("FT-101", "FT-102", "FT-103", "TT-101", "TT-102A", "TT-102B", "TT-102C", "PT-101", "PT-102")


def seen(memory: Memory, values: Mapping[str, float | None], ours: Limits | None = None, now_s: float = 1000.0) -> View:
    """One look at a field of which only these values are known; None: it was read and cannot be believed."""
    readings = {
        tag: Reading(tag, value, Unit.NONE, Quality.GOOD, now_s)
        if value is not None
        else Reading(tag, None, Unit.NONE, Quality.BAD, now_s, Reason.TIMEOUT)
        for tag, value in values.items()
    }
    return View(readings, memory, limits() if ours is None else ours, now_s)


def judged(rack: PaperRack, row: str) -> Judgement:
    """What one row of the trip table said in the last scan."""
    return rack.scans[-1].judged.judgements[row]


def verdict(rack: PaperRack, row: str) -> Verdict:
    return judged(rack, row).verdict


def held_s(rack: PaperRack, row: str) -> float:
    """How long the row's demand has counted by now."""
    timer = rack.memory.timers.get(row)
    return 0.0 if timer is None else timer.demand_s


def alarms(rack: PaperRack) -> set[str]:
    """Ids of the alarms that are active now."""
    return {name for name, state in rack.memory.alarms.items() if state.active}


def rows(rack: PaperRack) -> tuple[str, ...]:
    """Rows of the latches, first-out first."""
    return tuple(latch.row for latch in rack.memory.latches)


def transitions(rack: PaperRack) -> list[tuple[str, str, str]]:
    """(event, from, to) of every move of the chart, oldest first."""
    return [(f.fields["event"], f.fields["from"], f.fields["to"]) for f in rack.told(FactKind.TRANSITION)]


def last(rack: PaperRack, kind: FactKind) -> Fact:
    return rack.told(kind)[-1]


def coarse(rack: PaperRack, for_s: float, dt_s: float = 1.0) -> PaperRack:
    """Run for a long time in long scans; every reading is new in every scan."""
    for _ in range(round(for_s / dt_s)):
        rack.scan(dt_s=dt_s)
    return rack


def spoil(rack: PaperRack, *tags: str) -> None:
    """Make readings BAD from now on, whatever the paper field does."""
    rack.qualities.update(dict.fromkeys(tags, Quality.BAD))


def repair(rack: PaperRack, *tags: str) -> None:
    for tag in tags:
        del rack.qualities[tag]


def lose_link(rack: PaperRack, link: str) -> tuple[str, ...]:
    """Let every point of one bus go unread from now on; return their tags."""
    tags = tuple(tag for tag, bus in rack.limits.link_of.items() if bus == link)
    spoil(rack, *tags)
    return tags


def put(rack: PaperRack, *readings: Reading) -> None:
    """Hand readings to the core as they came out of the decoder."""
    for reading in readings:
        rack.values[reading.tag] = reading.value
        if reading.quality is Quality.GOOD:
            rack.qualities.pop(reading.tag, None)
        else:
            rack.qualities[reading.tag] = reading.quality


@cache
def _profile(name: str) -> Profile:
    return yamlfile.check(yamlfile.load(PROFILES / f"{name}.yaml"), Profile)


def decoder_of(tag: str) -> Decoder:
    """The decoder of one tag, compiled from the shipped profile of its device."""
    profile = _profile(_PROFILE_OF[tag[:2]])
    wanted = want(profile, tag, tag.lower().replace("-", "_"), "fast")
    point = wanted.point
    return Decoder(Span("fast", point.table, point.address, point.words, (wanted,)))


def swapped(tag: str, value: float, at_s: float) -> Reading:
    """What the decoder makes of a float that arrives with its two words in the wrong order."""
    data = struct.pack(">f", value)
    (reading,) = decoder_of(tag).decode(data[2:] + data[:2], at_s)
    return reading


def swap_words(rack: PaperRack, *tags: str) -> list[Reading]:
    """Let the present values of ``tags`` arrive with their words swapped from now on; return the readings."""
    readings = [swapped(tag, rack.values[tag] or 0.0, rack.now_s) for tag in tags]
    put(rack, *readings)
    return readings


def register(tag: str, word: int, at_s: float) -> Reading:
    """What the decoder makes of one register."""
    (reading,) = decoder_of(tag).decode(struct.pack(">H", word), at_s)
    return reading


def run_frozen(rack: PaperRack, for_s: float, *tags: str) -> PaperRack:
    """Run while a gateway repeats its last copy of a device: values and heartbeat stand still."""
    pulse, values = Pulse(), {tag: rack.values[tag] for tag in tags}
    for _ in range(round(for_s / PERIOD_S)):
        beat = Reading("heartbeat", 7.0, Unit.NONE, Quality.GOOD, rack.now_s + PERIOD_S)
        if pulse.note(beat):
            spoil(rack, *tags)
        rack.values.update(values)
        rack.scan()
    return rack


def run_spiking(rack: PaperRack, tag: str, spike: float, max_rate: float) -> Reading:
    """One scan in which ``tag`` jumps to ``spike`` faster than it can; return what plausibility made of it."""
    judge = Plausibility({tag: Rule(max_rate)})
    was = rack.values[tag]
    for n in range(5):
        judge(Reading(tag, was, Unit.NONE, Quality.GOOD, rack.now_s - 0.25 + 0.05 * n))
    reading = judge(Reading(tag, spike, Unit.NONE, Quality.GOOD, rack.now_s + PERIOD_S))
    put(rack, reading)
    rack.scan()
    put(rack, replace(reading, value=was, quality=Quality.GOOD, reason=None))
    return reading


def flicker(rack: PaperRack, tag: str, values: Iterable[float | None]) -> PaperRack:
    """One scan for each value; None = lost."""
    for value in values:
        rack.values[tag] = value
        rack.scan()
    return rack

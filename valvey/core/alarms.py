"""Which alarm conditions hold, and each alarm's life. Tells; never acts."""

from collections import Counter
from collections.abc import Iterable, Mapping

from fieldkit import alarms
from fieldkit.alarm import AlarmState
from fieldkit.errors import Refusal
from fieldkit.frozen import replace
from fieldkit.reading import Quality
from fieldkit.request import Answered, accepted, refused_as
from valvey.core import stroking, virtual_sensors
from valvey.core.alarm_rows import row_of, slug
from valvey.core.chart import State, Step
from valvey.core.facts import Fact, FactKind
from valvey.core.flow_alarms import conditions as flow_conditions
from valvey.core.judges import shut_votes
from valvey.core.judging import Judged
from valvey.core.memory import Memory
from valvey.core.requests import Request
from valvey.core.verdict import D
from valvey.core.view import View

#: Conditions are looked at this often; latches at once.
PERIOD_S = 0.1
#: So many points of one bus lost within so long are one cause: the bus.
LINK_POINTS = 3
LINK_WITHIN_S = 1.0
BYPASS_WARNING_S = 300.0


def advance_alarms(view: View, judged: Judged) -> tuple[Memory, list[Fact]]:
    """Return the memory with its alarms advanced, and a fact for each that changed its phase."""
    memory, now_s = view.memory, view.now_s
    fresh_latch = any(f"trip-{slug(latch.sif)}" not in memory.alarms for latch in memory.latches)
    if now_s - memory.alarms_s < PERIOD_S and not fresh_latch and now_s >= memory.alarms_s:
        return memory, []
    memory = replace(memory, lost_s=_lost_since(view))
    active = set(conditions(replace(view, memory=memory), judged))
    states, changed = alarms.advance(memory.alarms, active, row_of, now_s)
    return replace(memory, alarms=states, alarms_s=now_s), [_fact(state, now_s) for state in changed]


def _fact(state: AlarmState, now_s: float) -> Fact:
    return Fact(FactKind.ALARM, now_s, alarms.fields(state))


def conditions(view: View, judged: Judged) -> Iterable[str]:
    """Yield the id of every alarm whose condition holds now."""
    memory = view.memory
    for latch in memory.latches:
        yield f"trip-{slug(latch.sif)}"
    links = _links_lost(view)
    for key in judged.blind:
        if not any(judged.judgements[key].tag in tags for tags in links.values()):
            yield f"blind-{slug(key)}"
    for due in judged.shadows:
        if due.trip.sif == "SIF-1" and due.judgement.verdict is D:
            yield f"leak-evidence-{slug(due.trip.key.removeprefix('SIF-1/'))}"
    yield from _sensors(view, links)
    if memory.power_cap:
        yield "power-cap"
    if not memory.armed:
        yield "disarmed"
    elif (judged.judgements["SIF-8"].value or 0.0) >= view.limits.write_alarm_s:
        yield "write-late"
    yield from _plant(view)
    yield from flow_conditions(view)
    yield from stroking.conditions(memory)
    yield from virtual_sensors.conditions(memory.sensors)
    yield from _people(view)


def _lost_since(view: View) -> dict[str, float]:
    """Since when each configured tag cannot be believed."""
    limits, now_s, known = view.limits, view.now_s, view.memory.lost_s
    lost: dict[str, float] = {}
    for tag, max_age_s in limits.max_age_s.items():
        reading = view.readings.get(tag)
        if reading is None or reading.quality is not Quality.GOOD or now_s - reading.at_s > max_age_s:
            lost[tag] = known.get(tag, now_s)
    return lost


def _links_lost(view: View) -> dict[str, set[str]]:
    """The buses that are lost, each with the tags that it took along: one event, one alarm, one cause."""
    lost, links = view.memory.lost_s, view.limits.link_of
    by_link: dict[str, list[str]] = {}
    for tag in sorted(lost, key=lost.__getitem__):
        if tag in links:
            by_link.setdefault(links[tag], []).append(tag)
    total = Counter(links.values())
    out: dict[str, set[str]] = {}
    for link, tags in by_link.items():
        if len(tags) == total[link]:
            out[link] = set(tags)
            continue
        for first in range(len(tags) - LINK_POINTS + 1):
            together = [tag for tag in tags[first:] if lost[tag] - lost[tags[first]] <= LINK_WITHIN_S]
            if len(together) >= LINK_POINTS:
                out.setdefault(link, set()).update(together)
    return out


def _sensors(view: View, links: Mapping[str, set[str]]) -> Iterable[str]:
    taken = set().union(*links.values())
    yield from (f"link-{slug(link)}" for link in links)
    yield from (f"bad-{slug(tag)}" for tag in view.memory.lost_s if tag not in taken)
    for number in ("101", "102", "103"):
        if view.on(f"LDA-{number}") is True:
            yield f"contamination-ldt-{number}"


def _plant(view: View) -> Iterable[str]:
    memory, limits = view.memory, view.limits
    if memory.unload_overdue:
        yield "unload-overdue"
    if memory.state is State.COOLDOWN and memory.isolate_wanted and memory.step is Step.RAMP and memory.cool_overdue:
        yield "cooling-overdue"
    if any(vote.verdict is D for vote in shut_votes(view)):
        yield "valve-doubt"
    pressure = view.number("PT-101")
    if pressure is not None and pressure > limits.supply_hh_kpa and view.on("ZSC-101") is True:
        yield "trapped-liquid"
    if memory.latched("SIF-13"):
        yield "power-on-dark"
    if memory.failed is not None:
        yield f"work-failed-{slug(memory.failed)}"
    if memory.state in {State.DRAINING, State.FILLING} and view.on("LSH-203") is True:
        yield "sump-high"


def _people(view: View) -> Iterable[str]:
    memory = view.memory
    if memory.bypasses:
        yield "bypass-standing"
    if any(bypass.until_s - view.now_s <= BYPASS_WARNING_S for bypass in memory.bypasses):
        yield "bypass-ending"
    if view.on("HS-102") is True:
        yield "key-locked"
    if view.on("SYS-STORE") is True:
        yield "storage-fault"
    if view.on("SYS-GATE") is True:
        yield "gate-refused"


def note(view: View, request: Request) -> tuple[Memory, Answered, tuple[Fact, ...]]:
    """Acknowledge or shelve one alarm."""
    memory = view.memory
    after = alarms.note(memory.alarms, request, view.now_s)
    if isinstance(after, Refusal):
        return memory, refused_as(request, after), ()
    return (
        replace(memory, alarms={**memory.alarms, after.row.id: after}),
        accepted(request),
        (_fact(after, view.now_s),),
    )

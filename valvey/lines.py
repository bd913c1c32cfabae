"""What a rack's plan costs its serial lines: how long each request takes, one cycle of all reads, and the share of the time.

A line is whatever carries RTU frames one after the other: a port, or what stands behind a gateway.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from fieldkit.config_bus import SerialLine
from fieldkit.faulted import FaultBits
from fieldkit.point import REGISTER_TABLES
from fieldkit.profile import Profile
from fieldkit.rtu_frames import Line
from fieldkit.spans import Span, plan, want
from valvey.config_rack import RackConfig
from valvey.needs import VALVE_BLOCK
from valvey.writer import PERMIT, REFRESH_S

REPLY_DELAY_S = 0.010
"""Assumed where a profile does not say how long its device takes to begin a reply (est.; makers state 3..10 ms)."""
MOST_SHARE = 0.8
"""Of a line's time that a plan may use: the rest is for a reply that is lost now and then."""
LANES = ("fast", "normal", "slow")
READ_REQUEST, WRITE_REPLY = 8, 8


@dataclass(frozen=True)
class Exchange:
    """One request and its reply.

    bus       who is asked
    lane      how often, None for the writes
    period_s  the time between two of them
    what      for people
    takes_s   from the gap before the request to the end of the reply
    """

    bus: str
    lane: str | None
    period_s: float
    what: str
    takes_s: float


@dataclass(frozen=True)
class LinePlan:
    """Everything that is asked on one line, in a working rack."""

    way: str
    settings: SerialLine
    buses: tuple[str, ...]
    exchanges: tuple[Exchange, ...]

    @cached_property
    def share(self) -> float:
        """Part of the time in which the line is busy."""
        return sum(one.takes_s / one.period_s for one in self.exchanges)

    @cached_property
    def longest_s(self) -> float:
        """What may be under way before a write."""
        return max((one.takes_s for one in self.exchanges), default=0.0)

    def cycle_s(self, lane: str) -> float:
        """One turn of everything that is asked at least as often as ``lane``, writes too: the longest wait for a value."""
        period_s = max((one.period_s for one in self.exchanges if one.lane == lane), default=0.0)
        return sum(one.takes_s for one in self.exchanges if one.lane is None or one.period_s <= period_s)


def line_plans(config: RackConfig) -> tuple[LinePlan, ...]:
    """Return the plan of each serial line that the rack's file names."""
    ways: dict[tuple[str, str], list[str]] = {}
    for name, bus in config.data.buses.items():
        if bus.serial is not None and name in config.profiles:
            ways.setdefault((bus.by, bus.way), []).append(name)
    out = []
    for (_, way), names in ways.items():
        settings = config.data.buses[names[0]].serial
        assert settings is not None  # ruff: ignore[assert] - only such buses are in ``ways``
        exchanges = [one for name in names for one in _exchanges(config, name, settings.line)]
        out.append(LinePlan(way, settings, tuple(names), tuple(exchanges)))
    return tuple(out)


def plan_of(config: RackConfig, bus: str) -> LinePlan | None:
    """The plan of the line that a device hangs on, None when it hangs on none."""
    return next((one for one in line_plans(config) if bus in one.buses), None)


def spans_of(name: str, profile: Profile, tags: dict[str, tuple[str, str]]) -> tuple[Span, ...]:
    """The reads that a device with these tags makes, its heartbeat's and its fault bits' too."""
    wanted = [want(profile, tag, point, lane) for tag, (point, lane) in tags.items() if point in profile.points]
    if wanted and profile.heartbeat is not None:
        quickest = min((one.lane for one in wanted), key=LANES.index)
        wanted.append(want(profile, f"{name}/heartbeat", profile.heartbeat, quickest))
    return plan(profile, [*wanted, *FaultBits(name, profile, tags).wanted])


def reply_size(span: Span) -> int:
    """Bytes of the RTU frame that answers a read."""
    return 5 + (2 * span.count if span.table in REGISTER_TABLES else (span.count + 7) // 8)


def _exchanges(config: RackConfig, name: str, line: Line) -> Iterable[Exchange]:
    profile, scan = config.profiles[name], config.data.scan
    periods_s = {"fast": scan.fast_s, "normal": scan.normal_s, "slow": scan.slow_s}

    def takes_s(request: int, reply: int) -> float:
        delay_s = REPLY_DELAY_S if profile.reply_delay_s is None else profile.reply_delay_s
        gap_s = max(line.gap_s, config.min_gap_s(name))
        return gap_s + line.frame_s(request) + max(delay_s, line.gap_s) + line.frame_s(reply)

    for span in spans_of(name, profile, config.read_from(name)):
        what = f"{name} {span.table} {span.address} count {span.count}"
        yield Exchange(name, span.lane, periods_s[span.lane], what, takes_s(READ_REQUEST, reply_size(span)))
    for tags in _blocks(config, name):
        words = len(tags)
        write = 8 if words == 1 else 9 + 2 * words
        yield Exchange(name, None, REFRESH_S, f"{name} write {tags[0]}", takes_s(write, WRITE_REPLY))
        yield Exchange(name, None, REFRESH_S, f"{name} read-back {tags[0]}", takes_s(READ_REQUEST, 5 + 2 * words))


def _blocks(config: RackConfig, name: str) -> list[list[str]]:
    """The outputs on a device as they are written: the valves as one block, the permit alone."""
    mine = {tag for tag, place in config.outputs.items() if place.bus == name}
    blocks = ([tag for tag in VALVE_BLOCK if tag in mine], [PERMIT] if PERMIT in mine else [])
    return [block for block in blocks if block]

"""What a rack's buses say together: who shares a gateway or a serial line, and whether that line can carry the plan."""

import re

from fieldkit.config_draft import Draft
from fieldkit.errors import Fault
from fieldkit.wires import speed_of
from valvey.config_models import RackFile
from valvey.config_rack import RackConfig, to_limits
from valvey.core.trips import rows_for
from valvey.ladder import FAST_TIMEOUT_MOST_S
from valvey.lines import MOST_SHARE, LinePlan, line_plans
from valvey.needs import senses_of

_BY_NUMBER = re.compile(r"^/dev/tty(USB|ACM)\d+$")
_STABLE = re.compile(r"^/dev/(serial/by-(id|path)/.+|ttyS\d+|ttyAMA\d+)$")


def check_buses(draft: Draft[RackFile], config: RackConfig) -> None:
    """Add to the draft every fault of the buses."""
    fast = {place.bus for place in config.inputs.values() if place.lane == "fast"}
    writing = {place.bus for place in config.outputs.values()}
    first: dict[tuple[str, str], str] = {}
    units: dict[tuple[str, str, int], str] = {}
    for name, bus in config.data.buses.items():
        at = ("buses", name, bus.by)
        other = first.setdefault((bus.by, bus.way), name)
        same = units.setdefault((bus.by, bus.way, bus.unit), name)
        if same != name:
            draft.add(at, f"is the same device as bus {same}: {bus.way} unit {bus.unit}", "one bus a device")
        elif other != name and {other, name} <= fast and config.data.shared_path is None:
            draft.add(
                at,
                f"fast-lane points of {other} and {name} share one {'line' if bus.tcp is None else 'gateway'}, {bus.way}",
                "another path, or shared_path: {accepted_by: a person}",
            )
        elif other != name and {other, name} & writing and config.data.shared_path is None:
            draft.add(
                at,
                f"{other} and {name} share {bus.way}, and one of them carries outputs: a silent neighbour delays its writes",
                "another path, or shared_path: {accepted_by: a person}",
            )
        if other != name and bus.serial != config.data.buses[other].serial:
            message = f"a line has one speed and form: {other} says {config.data.buses[other].serial}"
            draft.add((*at[:2], "rtu" if bus.rtu is not None else "line"), message, f"the same as {other}")
        if name in fast and bus.timeout_s > FAST_TIMEOUT_MOST_S:
            draft.add(
                (*at[:2], "timeout_s"),
                f"{bus.timeout_s:g} s is too long for the fast lane",
                f"at most {FAST_TIMEOUT_MOST_S:g}",
            )
        _rtu(draft, name, config)
        if bus.ignore_unit and sum((one.by, one.way) == (bus.by, bus.way) for one in config.data.buses.values()) > 1:
            message = f"{bus.way} has more than one device: an answer could be another's"
            draft.add((*at[:2], "ignore_unit"), message, "true for the only device of a connection")
        if name in writing:
            _writes(draft, name, config)
    for line in line_plans(config):
        _line(draft, config, line)
    _blind(draft, config)


def _writes(draft: Draft[RackFile], name: str, config: RackConfig) -> None:
    bus, profile, at = config.data.buses[name], config.profiles.get(name), ("buses", name, "write_connection")
    if profile is None:
        return
    if bus.write_connection is None:
        allowed = "own, shared" if bus.tcp is not None else "shared"
        draft.add(at, "is missing: this device has outputs", allowed)
    elif bus.tcp is None and bus.write_connection == "own":
        draft.add(at, f"{bus.way} is one line: writes go on it, before the reads that wait", "shared")
    elif bus.tcp is not None and bus.write_connection == "own" and profile.connections < 2:
        draft.add(at, f"{bus.profile} serves one connection only", "shared")
    elif bus.tcp is not None and bus.write_connection == "shared" and profile.connections > 1:
        draft.add(
            at, f"writes would wait behind reads, and {bus.profile} serves {profile.connections} connections", "own"
        )


def _rtu(draft: Draft[RackFile], name: str, config: RackConfig) -> None:
    bus, at = config.data.buses[name], ("buses", name)
    if bus.tcp is not None and bus.late_reply_s is not None:
        draft.add(
            (*at, "late_reply_s"),
            "Modbus TCP numbers its requests: a late reply is known by its number",
            "leave it out",
        )
    for key in ("settle_s", "ignore_transaction_id", "ignore_unit"):
        if bus.tcp is None and getattr(bus, key):
            draft.add((*at, key), f"belongs to Modbus TCP: {bus.by} has none", "leave it out")
    if bus.rtu is not None and bus.line is not None:
        draft.add((*at, "line"), "stands beside rtu, which says it", "leave it out")
    if bus.late_reply_s is not None and bus.late_reply_s < bus.timeout_s:
        draft.add(
            (*at, "late_reply_s"),
            f"{bus.late_reply_s:g} s is shorter than timeout_s: a reply can come until then in any case",
            f"at least {bus.timeout_s:g}, better the device's worst reply time",
        )
    if bus.rtu is not None and speed_of(bus.rtu.baud) is None:
        draft.add(
            (*at, "rtu", "baud"), f"{bus.rtu.baud} is no speed that this system has", "9600, 19200, 38400, 115200"
        )


def _blind(draft: Draft[RackFile], config: RackConfig) -> None:
    """One lost reply on a line must not last as long as a safety function may be blind."""
    limits = to_limits(config)
    for row in rows_for(limits):
        timing = limits.timing.get(row.key)
        blind_s = (timing and timing.blind_s) or row.blind_s
        if row.blind_effect is None or blind_s is None:
            continue
        for bus in {config.data.tags[tag].bus for tag in senses_of(row, limits.policy) if tag in config.data.tags}:
            one = config.data.buses.get(bus)
            if one is not None and one.tcp is None and one.latest_reply_s >= blind_s:
                draft.add(
                    ("buses", bus, "late_reply_s"),
                    f"one lost reply could make {row.key} blind for {one.latest_reply_s:g} s, and it acts after {blind_s:g} s",
                    f"below {blind_s:g}, and no less than the device's worst reply time",
                )


def _line(draft: Draft[RackFile], config: RackConfig, line: LinePlan) -> None:
    """Refuse a plan that its line cannot carry."""
    by_bus: dict[str, float] = {}
    for one in line.exchanges:
        by_bus[one.bus] = max(by_bus.get(one.bus, 0.0), one.takes_s)
    for name, longest_s in by_bus.items():
        timeout_s = config.data.buses[name].timeout_s
        if timeout_s < longest_s:
            worst = max((one for one in line.exchanges if one.bus == name), key=lambda one: one.takes_s)
            draft.add(
                ("buses", name, "timeout_s"),
                f"{timeout_s:g} s is too short: {worst.what} takes {longest_s:.3f} s at {line.settings.line}",
                f"at least {longest_s:.3f}, or a faster line",
            )
    if line.share > MOST_SHARE:
        lanes = {one.lane for one in line.exchanges if one.lane is not None}
        quick = min(lanes, key=lambda lane: ("fast", "normal", "slow").index(lane), default="fast")
        period_s = min((one.period_s for one in line.exchanges if one.lane == quick), default=0.0)
        busiest = max(line.buses, key=lambda name: sum(o.takes_s / o.period_s for o in line.exchanges if o.bus == name))
        most_s = _period_that_fits_s(line, quick)
        slower = f"scan.{quick}_s at least {most_s:.3g}, " if most_s is not None else ""
        draft.add(
            ("buses", busiest, config.data.buses[busiest].by),
            f"the plan is impossible: {line.way} at {line.settings.line} would be busy {100 * line.share:.0f} % of the "
            f"time; one cycle of the {quick} lane takes {line.cycle_s(quick):.3f} s, its period is {period_s:g} s",
            f"at most {100 * MOST_SHARE:.0f} %: {slower}points in a slower lane, a higher baud, or a line of its own",
        )
    elif len(line.buses) > 1:
        _one_silent(draft, config, line)


def _period_that_fits_s(line: LinePlan, lane: str) -> float | None:
    """The shortest period of one lane at which the line carries the plan; None when no period is long enough."""
    rest = sum(one.takes_s / one.period_s for one in line.exchanges if one.lane != lane)
    mine_s = sum(one.takes_s for one in line.exchanges if one.lane == lane)
    return mine_s / (MOST_SHARE - rest) if rest < MOST_SHARE else None


def _one_silent(draft: Draft[RackFile], config: RackConfig, line: LinePlan) -> None:
    """While one device is silent for its timeout, its neighbours' readings must not grow stale."""
    for name in line.buses:
        others = [tag for tag, place in config.inputs.items() if place.bus in line.buses and place.bus != name]
        if not others:
            continue
        tag = min(others, key=config.max_age_s)
        lane = config.data.tags[tag].lane or "fast"
        left_s = config.max_age_s(tag) - config.period_s(tag) - line.cycle_s(lane)
        if config.data.buses[name].timeout_s > left_s:
            draft.add(
                ("buses", name, "timeout_s"),
                f"while {name} is silent, {tag} on the same line is not read for so long that it is stale "
                f"(after {config.max_age_s(tag):g} s)",
                f"at most {max(left_s, 0.0):.3f}, or a line of its own",
            )


def warnings(config: RackConfig) -> tuple[Fault, ...]:
    """What is allowed and yet better done another way."""
    out = []
    for name, bus in config.data.buses.items():
        if bus.rtu is None or _STABLE.match(bus.way) or (config.data.simulated and not _BY_NUMBER.match(bus.way)):
            continue
        why = (
            "the number changes when an adapter is plugged in again"
            if _BY_NUMBER.match(bus.way)
            else "is no stable name"
        )
        message = f"{bus.way}: {why}; `ls -l /dev/serial/by-id` shows the adapter's own name"
        out.append(Fault(str(config.file), None, f"buses.{name}.rtu.port", message, "/dev/serial/by-id/…"))
    return tuple(out)

"""The flow control's place in a scan: what it is shown, when it has FCV-101, and what it may never take from the rack.

While the permit is on it has the valve, and looks every ``PERIOD_S``. Everywhere else it has not: what it asked for last
stands in ``Memory.fcv_pct``, from which every other state begins, and what it learned waits for the next time.
"""

from math import inf

from fieldkit.frozen import replace
from fieldkit.reading import Quality
from valvey.core.chart import PERMIT_ON
from valvey.core.flow_control import begin, control
from valvey.core.flow_model import dp_ahead_kpa, opening_for, unsure
from valvey.core.flow_state import (
    Bound,
    Ceiling,
    Control,
    Header,
    Hunt,
    Mode,
    Seen,
    Steering,
    Tuning,
)
from valvey.core.memory import Memory
from valvey.core.view import View

#: A pseudo reading of the shell's: what the coordinator leaves the rack, L/min; 0 = as much as it wants. Its time is when
#: the coordinator was last heard.
CEILING_TAG = "SYS-CEILING"
PERIOD_S = 0.2
#: A scan that begins a little early must not cost a whole period.
EPSILON_S = 0.002
#: A gap counts for no more than this.
LONGEST_S = 2.0
#: Having taken the valve over, it learns for so long before it moves it: the meter's dead time and lag.
LISTEN_S = 3.0
#: Two meters further apart than this share: the lower one counts.
METERS_APART = 0.05
#: The coordinator repeats itself every 60 s. After so long without a word its ceiling is released, by this share of the
#: nominal flow in a second: all of it takes minutes, in which the other racks' valves follow.
SILENT_S = 150.0
RELEASE_PER_S = 0.1 / 60.0


def steer(view: View, tuning: Tuning) -> Memory:
    """Return the memory with FCV-101's command as the flow control wants it, when it has the valve and is due."""
    memory, before = view.memory, view.memory.steering
    if memory.state not in PERMIT_ON or not memory.armed:
        if before is None or not before.active:
            return memory
        return replace(memory, steering=replace(before, active=False))
    seen = seen_by(view)
    if before is None or not before.active:
        return replace(memory, steering=take_over(view, before, seen, tuning))
    dt_s = view.now_s - before.at_s
    if dt_s < PERIOD_S - EPSILON_S:
        return memory
    dt_s = min(dt_s, LONGEST_S)
    ceiling = _ceiling(view, before.ceiling, tuning, dt_s)
    ceiling_lpm = inf if ceiling is None else ceiling.flow_lpm
    tuning = replace(tuning, minimum_lpm=view.own_need_lpm(), ceiling_lpm=ceiling_lpm)
    held = replace(before.control, command_pct=memory.fcv_pct)
    after = control(held, seen, tuning, dt_s)
    bound = _bound(after, tuning)
    if after.mode is Mode.POSITION:
        command_pct, bound = _held(held, after, seen, tuning)
        after = replace(after, command_pct=command_pct)
    if view.now_s - before.since_s < LISTEN_S:
        after = replace(after, command_pct=memory.fcv_pct)
    steering = Steering(after, True, view.now_s, before.since_s, seen.flow_lpm, ceiling, bound)
    return replace(memory, steering=steering, fcv_pct=after.command_pct)


def take_over(view: View, before: Steering | None, seen: Seen, tuning: Tuning) -> Steering:
    """Return the flow control as it takes FCV-101 over where the memory's command has it; nothing moves by that.

    A rack that is adopted in service goes on with what was asked for. One that was opened anew follows its load, and
    learns its branch quickly: it may have been worked on.
    """
    memory = view.memory
    fresh = begin(memory.fcv_pct, tuning, seen.flow_lpm)
    if before is None:
        return Steering(fresh, True, view.now_s, view.now_s, seen.flow_lpm)
    old = before.control
    ceiling = before.ceiling
    if ceiling is not None:  # times of another boot are none
        ceiling = replace(ceiling, heard_s=min(ceiling.heard_s, view.now_s))
    if memory.permit_rise_s is None:
        taken = Control(
            old.mode, old.asked, memory.fcv_pct, replace(old.demand, load_kw=None), old.learned, Header(),
            Hunt(events=old.hunt.events),
        )  # fmt: skip
    else:
        learned = unsure(old.learned.kv_rest_m3_h, old.learned.bias_pct, old.learned.kv_rack_m3_h, tuning)
        taken = replace(fresh, learned=learned)
    return Steering(taken, True, view.now_s, view.now_s, seen.flow_lpm, ceiling)


def seen_by(view: View) -> Seen:
    """What the flow control is shown of one scan: good and fresh readings only."""
    supply, ret = view.number("PT-101"), view.number("PT-102")
    header, back = view.number("PT-201"), view.number("PT-202")
    supply_c, return_c = view.number("TT-101"), view.return_c()
    return Seen(
        load_kw=view.best("JT-101", "ET-101"),
        flow_lpm=flow_lpm(view),
        header_kpa=None if header is None or back is None else header - back,
        rack_kpa=None if supply is None or ret is None else supply - ret,
        position_pct=view.number("ZT-101"),
        rise_k=None if supply_c is None or return_c is None else return_c - supply_c,
    )


def flow_lpm(view: View) -> float | None:
    """FT-101; the lower of both meters when they are apart, and the one that is left when one is lost."""
    supply, ret = view.number("FT-101"), view.number("FT-102")
    if supply is None or ret is None:
        return ret if supply is None else supply
    return ret if supply - ret > METERS_APART * supply else supply


def _ceiling(view: View, before: Ceiling | None, tuning: Tuning, dt_s: float) -> Ceiling | None:
    """What the coordinator leaves the rack now: as told; as told last while it is silent; then released slowly."""
    reading = view.readings.get(CEILING_TAG)
    flow = None if reading is None or reading.quality is not Quality.GOOD else reading.value
    if reading is not None and flow is not None and view.now_s - reading.at_s <= SILENT_S:
        return Ceiling(flow, reading.at_s) if flow > 0.0 else None
    if before is None or view.now_s - before.heard_s <= SILENT_S:
        return before
    more = before.flow_lpm + RELEASE_PER_S * tuning.flow_nominal_lpm * dt_s
    return None if more >= tuning.high_lpm else replace(before, flow_lpm=more)


def _held(before: Control, after: Control, seen: Seen, tuning: Tuning) -> tuple[float, Bound | None]:
    """Return the command of a valve that is held at an opening, and what keeps it from that.

    It still lets the rack's own need pass, and no more than the ceiling; it shuts no further while less than the need
    flows, or nobody can tell.
    """
    command_pct, bound = after.command_pct, None
    if seen.flow_lpm is None or seen.flow_lpm < tuning.minimum_lpm:
        command_pct = max(command_pct, before.command_pct)
    dp_kpa = dp_ahead_kpa(after.header)
    if dp_kpa is None:
        return command_pct, None
    least_pct = opening_for(tuning.minimum_lpm, dp_kpa, after.learned, tuning)
    most_pct = opening_for(tuning.high_lpm, dp_kpa, after.learned, tuning)
    if most_pct is not None and command_pct > most_pct and tuning.ceiling_lpm <= tuning.high_lpm:
        command_pct = most_pct
        bound = Bound.OWN_NEED if tuning.minimum_lpm >= tuning.ceiling_lpm else Bound.CEILING
    if least_pct is None or command_pct < least_pct:
        command_pct, bound = 100.0 if least_pct is None else least_pct, Bound.OWN_NEED
    near = bound is not None and abs(command_pct - before.command_pct) < tuning.command_band_pct
    return before.command_pct if near else command_pct, bound


def _bound(state: Control, tuning: Tuning) -> Bound | None:
    """What limits a flow that is controlled, the strongest first."""
    if state.hunt.held:
        return Bound.HUNTING
    if state.short:
        return Bound.VALVE
    flow = state.demand.setpoint_lpm
    if flow <= tuning.low_lpm:
        if tuning.minimum_lpm >= tuning.low_lpm:
            return Bound.OWN_NEED
        return Bound.CEILING if tuning.ceiling_lpm <= tuning.low_lpm else Bound.LEAST
    if flow >= tuning.high_lpm:
        return Bound.CEILING if tuning.ceiling_lpm <= tuning.high_lpm else Bound.MOST
    return None

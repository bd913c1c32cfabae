"""Virtual sensors: what no single device can tell. They tell, as alarms; SIF-11 and the leak policy ask for more than them.

``observe`` is called once a scan with what was read in it and returns the next state; ``conditions`` names the alarms that
hold. A reading that cannot be believed is None and never a symptom.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from fieldkit.frozen import replace
from valvey.core import mass_balance, plant_signs, plausible
from valvey.core.limits import tolerated_lpm
from valvey.core.mass_balance import Balance, Second
from valvey.core.plant_signs import Decay, Heat, Resistance
from valvey.core.plausible import Mover, Returns, Still

LEAST_FLOW = 0.2
"""Below this share of the nominal flow the mass balance says nothing."""
BLIND_S = 900.0
"""So long without one judgement of the mass balance, valves open, is told."""
MOTION_S, BEFORE_S = 3.0, 60.0
OPEN_S = 10.0
"""Both valves open for so long: what their opening set in motion is over."""
FALLEN_KPA, FALLEN_PCT = 3.0, 0.5
"""Return pressure and make-up level this much below their mean of the last minute are falling."""
ONSET_S = 120.0
"""What begins to fall later than this after the flows have parted is not the leak's doing: headers and levels move for many
reasons, and a meter that reads wrong for days must not wait for one of them."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One scan. Every reading may be None: it cannot be believed.

    valves_open             both ZSO made;  shut_101, shut_102  ZSC of each
    full                    the rack is known to be full, drain and vent shut
    load_kw                 electric power behind the shelves, or of the feeder
    dew_c                   dew point of the room air, or the floor that stands for it
    level_pct               make-up level of the loop
    values                  by tag, for what must move; FCV-101 is its command
    milliamp                raw currents of 4..20 mA loops by tag, where a device gives them
    """

    rating_kw: float
    nominal_lpm: float
    valves_open: bool | None = None
    shut_101: bool | None = None
    shut_102: bool | None = None
    full: bool = False
    supply_lpm: float | None = None
    return_lpm: float | None = None
    supply_c: float | None = None
    returns_c: tuple[float | None, float | None, float | None] = (None, None, None)
    supply_kpa: float | None = None
    return_kpa: float | None = None
    load_kw: float | None = None
    level_pct: float | None = None
    dew_c: float | None = None
    values: Mapping[str, float | None] = field(default_factory=dict)
    milliamp: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sums:
    """The running second of the mass balance: readings weighted by their time."""

    held_s: float = 0.0
    supply: float = 0.0
    ret: float = 0.0
    supply_c: float = 0.0
    return_c: float = 0.0
    load: float = 0.0
    still: bool = True


@dataclass(frozen=True, slots=True)
class Motion:
    """What moves: since when both valves are open, 3 s means of the flows, minute means of what a leak lowers."""

    open_s: float = 0.0
    supply_lpm: float | None = None
    return_lpm: float | None = None
    return_kpa: float | None = None
    level_pct: float | None = None
    apart_s: float = 0.0
    """How long supply and return flow have been grossly apart."""
    kpa_falling: bool = False
    level_falling: bool = False

    def changing_lpm(self, supply_lpm: float, return_lpm: float) -> float | None:
        """How far two meters of unlike lags may differ without a leak, because the flow changes; None while that is not known.

        The faster of them leads the slower by no more than it leads its own 3 s mean. A flow that changes moves both the
        same way; a leak moves one of them, or the two apart, and must not hide itself.
        """
        if self.supply_lpm is None or self.return_lpm is None or self.open_s < OPEN_S:
            return None
        supply, ret = supply_lpm - self.supply_lpm, return_lpm - self.return_lpm
        return max(abs(supply), abs(ret)) if supply * ret > 0.0 else 0.0


@dataclass(frozen=True, slots=True)
class VirtualSensors:
    """All that one scan hands to the next; finite numbers, so that it can be written down with the memory."""

    balance: Balance = field(default_factory=Balance)
    sums: Sums = field(default_factory=Sums)
    blind_s: float = 0.0
    motion: Motion = field(default_factory=Motion)
    heat: Heat = field(default_factory=Heat)
    resistance: Resistance = field(default_factory=Resistance)
    decay: Decay = field(default_factory=Decay)
    passing_101_s: float = 0.0
    passing_102_s: float = 0.0
    dew_low: bool = False
    returns: Returns = field(default_factory=Returns)
    still: Mapping[str, Still] = field(default_factory=dict)
    currents_s: Mapping[str, float] = field(default_factory=dict)


@cache
def movers(rating_kw: float, nominal_lpm: float) -> tuple[Mover, ...]:
    """What must move with what in an open rack.

    Temperatures and the other power meter with the load, the throttle with its command, flows with the throttle,
    pressures with the flow.
    """
    load, flow = 0.1 * rating_kw, 0.1 * nominal_lpm
    # fmt: off
    return (
        Mover("TT-102A", 0.02, "ET-101", load),
        Mover("TT-102B", 0.02, "ET-101", load),
        Mover("TT-102C", 0.02, "ET-101", load),
        Mover("JT-101",  0.01, "ET-101", load),
        Mover("ET-101",  0.01, "JT-101", load),
        Mover("FT-101",  0.02, "ZT-101", 5.0),
        Mover("FT-102",  0.02, "ZT-101", 5.0),
        Mover("ZT-101",  0.02, "FCV-101", 5.0),
        Mover("PT-101",  0.02, "FT-101", flow),
        Mover("PT-102",  0.02, "FT-101", flow),
    )
    # fmt: on


def observe(state: VirtualSensors, seen: Seen, dt_s: float) -> VirtualSensors:
    """Return the state after one scan ``dt_s`` seconds after the last."""
    returns = plausible.vote(state.returns, seen.returns_c, dt_s)
    motion = _move(state.motion, seen, dt_s)
    sums, balance = _add(state.sums, state.balance, seen, returns.value_c, dt_s)
    known = balance.settled_s >= mass_balance.LONG_S and balance.learned_s >= mass_balance.WARM_UP_S
    calm = balance.settled_s >= mass_balance.LONG_S and not balance.leaking and seen.valves_open is True
    dp_kpa = None if seen.supply_kpa is None or seen.return_kpa is None else seen.supply_kpa - seen.return_kpa
    shut = seen.shut_101 is True and seen.shut_102 is True
    margin_k = None if seen.supply_c is None or seen.dew_c is None else seen.supply_c - seen.dew_c
    return VirtualSensors(
        balance=balance,
        sums=sums,
        blind_s=min(state.blind_s + dt_s, BLIND_S) if seen.valves_open is True and not known else 0.0,
        motion=motion,
        heat=plant_signs.balance_heat(
            state.heat, seen.load_kw, seen.supply_lpm, seen.supply_c, returns.value_c, seen.rating_kw, seen.nominal_lpm, dt_s
        ),
        resistance=plant_signs.resist(state.resistance, dp_kpa, seen.supply_lpm, calm, dt_s),
        decay=plant_signs.watch_decay(
            state.decay, shut and seen.full, seen.supply_kpa, _inside_c(seen.supply_c, returns.value_c), dt_s
        ),
        passing_101_s=plant_signs.passing_s(
            state.passing_101_s, seen.shut_101, seen.supply_lpm, seen.nominal_lpm, dt_s
        ),
        passing_102_s=plant_signs.passing_s(
            state.passing_102_s, seen.shut_102, seen.return_lpm, seen.nominal_lpm, dt_s
        ),
        dew_low=plant_signs.dew_low(state.dew_low, margin_k),
        returns=returns,
        still=plausible.watch(state.still, movers(seen.rating_kw, seen.nominal_lpm), seen.values, dt_s)
        if seen.valves_open is True
        else state.still,
        currents_s={
            tag: plausible.burnt_out_s(state.currents_s.get(tag, 0.0), milliamp, dt_s)
            for tag, milliamp in seen.milliamp.items()
        },
    )  # fmt: skip


def conditions(state: VirtualSensors) -> tuple[str, ...]:
    """Ids of the alarms that hold, by the names of their rows in ``alarm_rows``."""
    ratio, dropped = state.resistance.ratio, state.returns.dropped
    found = (
        ("mass-balance", state.balance.leaking),
        ("mass-balance-blind", state.blind_s >= BLIND_S),
        ("meters-apart", mass_balance.meters_apart(state.balance)),
        ("heat-balance", state.heat.disagrees),
        ("fouling", ratio is not None and ratio > plant_signs.FOULED),
        ("bypass-flow", ratio is not None and ratio < plant_signs.BYPASSED),
        ("pressure-decay", state.decay.lost),
        ("dew-margin", state.dew_low),
        ("valve-passing-xv-101", state.passing_101_s >= plant_signs.PASSING_S),
        ("valve-passing-xv-102", state.passing_102_s >= plant_signs.PASSING_S),
        ("returns-apart", state.returns.apart),
    )
    names = [name for name, holds in found if holds]
    if dropped is not None:
        names.append(f"off-{plausible.RETURNS[dropped].lower()}")
    names += [f"stuck-{tag.lower()}" for tag, still in state.still.items() if still.stuck]
    names += [f"current-{tag.lower()}" for tag, held_s in state.currents_s.items() if held_s >= plausible.NE43_S]
    return tuple(names)


def carried(state: VirtualSensors) -> VirtualSensors:
    """Return what is still true after a boot: what was learned and what is suspected, not what was moving."""
    return VirtualSensors(
        balance=replace(state.balance, settled_s=0.0),
        resistance=state.resistance,
        decay=Decay(lost=state.decay.lost),
        dew_low=state.dew_low,
        returns=replace(state.returns, for_s=(0.0, 0.0, 0.0), apart_s=0.0),
        still=state.still,
    )


def relearn(state: VirtualSensors) -> VirtualSensors:
    """Return the state with the balance's zero and the rack's resistance forgotten: a meter was changed, or the rack cleaned."""
    return replace(state, balance=Balance(), sums=Sums(), resistance=Resistance())


def _inside_c(supply_c: float | None, return_c: float | None) -> float | None:
    """Mean temperature of the liquid in a shut rack, as far as its two ends tell it."""
    return None if supply_c is None or return_c is None else 0.5 * (supply_c + return_c)


def _add(sums: Sums, balance: Balance, seen: Seen, return_c: float | None, dt_s: float) -> tuple[Sums, Balance]:
    """Add a scan to the running second, and judge it when it is full. A longer scan is one second of which little is known."""
    supply, ret, supply_c, load_kw = seen.supply_lpm, seen.return_lpm, seen.supply_c, seen.load_kw
    if seen.valves_open is False and (balance.leaking or balance.reversed):
        balance = replace(balance, leaking=False, reversed=False)
    if supply is None or ret is None or supply_c is None or return_c is None or load_kw is None:
        return Sums(), replace(balance, settled_s=0.0)
    still = seen.valves_open is True and supply > LEAST_FLOW * seen.nominal_lpm and dt_s <= 1.0
    sums = Sums(
        sums.held_s + dt_s,
        sums.supply + supply * dt_s,
        sums.ret + ret * dt_s,
        sums.supply_c + supply_c * dt_s,
        sums.return_c + return_c * dt_s,
        sums.load + load_kw / seen.rating_kw * dt_s,
        sums.still and still,
    )
    if sums.held_s < 1.0 - 1e-6:
        return sums, balance
    held = sums.held_s
    second = Second(
        sums.supply / held, sums.ret / held, sums.supply_c / held, sums.return_c / held, sums.load / held, sums.still
    )
    return Sums(), mass_balance.tick(balance, second)


def _move(motion: Motion, seen: Seen, dt_s: float) -> Motion:
    """Follow what moves."""
    supply = _mean(motion.supply_lpm, seen.supply_lpm, dt_s / MOTION_S)
    ret = _mean(motion.return_lpm, seen.return_lpm, dt_s / MOTION_S)
    kpa, kpa_falling = _falling(motion.return_kpa, seen.return_kpa, dt_s, FALLEN_KPA)
    level, level_falling = _falling(motion.level_pct, seen.level_pct, dt_s, FALLEN_PCT)
    open_s = min(motion.open_s + dt_s, OPEN_S) if seen.valves_open is True else 0.0
    flows = seen.supply_lpm, seen.return_lpm
    apart = flows[0] is not None and flows[1] is not None and flows[0] - flows[1] > tolerated_lpm(flows[0])
    return Motion(
        open_s,
        supply,
        ret,
        kpa,
        level,
        min(motion.apart_s + dt_s, ONSET_S) if apart else 0.0,
        kpa_falling,
        level_falling,
    )


def _falling(mean: float | None, value: float | None, dt_s: float, by: float) -> tuple[float | None, bool]:
    """The minute's mean after one more value, and whether that is lower than it by more than ``by``."""
    if value is None:
        return None, False
    after = value if mean is None else mean + (value - mean) * min(1.0, dt_s / BEFORE_S)
    return after, value < after - by


def _mean(mean: float | None, value: float | None, share: float) -> float | None:
    """The mean after one more value; None without one, so that it begins anew with the next."""
    return value if mean is None or value is None else mean + (value - mean) * min(1.0, share)

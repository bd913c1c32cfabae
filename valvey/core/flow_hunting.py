"""Whether the loop hunts: the flow swings about its set-point, or the valve turns round too often. Pure."""

from fieldkit.frozen import replace
from valvey.core.flow_state import Control, Hunt, Seen

WINDOW_S = 600.0
SWING = 0.02
"""Share of the set-point; alternating half-cycles beyond it on either side count."""
SWINGS = 6
#: A motor's turn of less than this is play in its feedback, percent.
TURN_PCT = 0.3
#: More than 100 reversals an hour, seen in ten minutes.
TURNS = 17
#: After so long without hunting one event is forgotten, unless the valve is held.
FORGET_S = 3600.0


def watch(hunt: Hunt, seen: Seen, setpoint_lpm: float, dt_s: float) -> Hunt:
    """Return what is counted after this scan; ``events`` rises by one when hunting is found."""
    if hunt.swings_s or hunt.turns_s or hunt.events:
        hunt = replace(
            hunt, swings_s=_older(hunt.swings_s, dt_s), turns_s=_older(hunt.turns_s, dt_s), quiet_s=hunt.quiet_s + dt_s
        )
    if seen.flow_lpm is not None:
        hunt = _swing(hunt, seen.flow_lpm - setpoint_lpm, SWING * setpoint_lpm)
    if seen.position_pct is not None:
        hunt = _turn(hunt, seen.position_pct)
    if len(hunt.swings_s) >= SWINGS or len(hunt.turns_s) >= TURNS:
        return replace(hunt, swings_s=(), turns_s=(), events=hunt.events + 1, quiet_s=0.0)
    if hunt.quiet_s >= FORGET_S and hunt.events and not hunt.held:
        return replace(hunt, events=hunt.events - 1, quiet_s=0.0)
    return hunt


def calm(state: Control) -> Control:
    """Return the state with hunting forgotten: a person has looked into it."""
    return replace(state, hunt=Hunt())


def _older(ages_s: tuple[float, ...], dt_s: float) -> tuple[float, ...]:
    return tuple(age_s + dt_s for age_s in ages_s if age_s + dt_s <= WINDOW_S)


def _swing(hunt: Hunt, off_lpm: float, most_lpm: float) -> Hunt:
    side = 1 if off_lpm > most_lpm else -1 if off_lpm < -most_lpm else 0
    if side in {0, hunt.side}:
        return hunt
    ages_s = hunt.swings_s if hunt.side == 0 else (*hunt.swings_s, 0.0)
    return replace(hunt, side=side, swings_s=ages_s)


def _turn(hunt: Hunt, position_pct: float) -> Hunt:
    """Follow the valve: its furthest point goes along, and coming back from there by ``TURN_PCT`` is a turn."""
    if hunt.turn_pct is None:
        return replace(hunt, turn_pct=position_pct)
    way = position_pct - hunt.turn_pct
    if way * hunt.heading > 0.0:
        return replace(hunt, turn_pct=position_pct)
    if abs(way) <= TURN_PCT:
        return hunt
    ages_s = hunt.turns_s if hunt.heading == 0 else (*hunt.turns_s, 0.0)
    return replace(hunt, turn_pct=position_pct, heading=int(way / abs(way)), turns_s=ages_s)

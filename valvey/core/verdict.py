"""Verdicts, three-valued votes, and the timers that turn a verdict into a trip."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Verdict(StrEnum):
    """What one safety function says in one scan. NOT_ARMED is visible and never votes."""

    HEALTHY = "HEALTHY"
    DEMAND = "DEMAND"
    UNKNOWN = "UNKNOWN"
    NOT_ARMED = "NOT_ARMED"


class Judgement(NamedTuple):
    """A verdict with the evidence a person needs afterwards.

    tag, value, limit  the reading nearest to (or furthest past) its limit, in the tag's unit
    at_s               sample time of that reading, monotonic seconds; decides the first-out
    blind              True when not one vote could be believed
    hold_s             overrides the row's hold time where it depends on the load
    """

    verdict: Verdict
    tag: str = ""
    value: float | None = None
    limit: float | None = None
    at_s: float = 0.0
    blind: bool = False
    hold_s: float | None = None


NOT_ARMED = Judgement(Verdict.NOT_ARMED)
H, D, U = Verdict.HEALTHY, Verdict.DEMAND, Verdict.UNKNOWN


def any_of(votes: Sequence[Verdict]) -> Verdict:
    """OR of three values: one demand is enough, and one unknown keeps it from being healthy."""
    if D in votes:
        return D
    return U if U in votes else H


def k_of_n(k: int, votes: Sequence[Verdict]) -> Verdict:
    """Vote k out of n, degrading as votes are lost: 2oo3 → 1oo2 → 1oo1.

    DEMAND when enough believable votes demand. HEALTHY only when so many are healthy that the lost ones could
    not make a demand even if they all did; else UNKNOWN, which freezes a hold that has begun.
    """
    believed = len(votes) - votes.count(U)
    if believed == 0:
        return U
    needed = max(1, k - (len(votes) - believed))
    if votes.count(D) >= needed:
        return D
    return H if votes.count(H) > len(votes) - k else U


@dataclass(frozen=True, slots=True)
class Timer:
    """How long a safety function has demanded, and how long it has been blind.

    demand_s  counts up while DEMAND, is frozen while UNKNOWN, counts down while HEALTHY
    blind_s   counts up while blind, down otherwise
    """

    verdict: Verdict = Verdict.HEALTHY
    demand_s: float = 0.0
    blind_s: float = 0.0
    blind: bool = False


QUIET = Timer()


def count(timer: Timer, judgement: Judgement, dt_s: float) -> Timer:
    """Return the timer after a scan ``dt_s`` seconds after the last one.

    The time since the last scan belongs to what that scan saw: a hold is never shorter than it says, and a demand
    that comes and goes with every scan still adds up by its share of the time.
    """
    verdict, blind = judgement.verdict, judgement.blind
    if verdict is Verdict.NOT_ARMED:
        return QUIET
    demand_s, blind_s = timer.demand_s, timer.blind_s
    if timer.verdict is D:
        demand_s += dt_s
    elif timer.verdict is H and demand_s:
        demand_s = max(0.0, demand_s - dt_s)
    if timer.blind:
        blind_s += dt_s
    elif blind_s:
        blind_s = max(0.0, blind_s - dt_s)
    if verdict is timer.verdict and blind is timer.blind and demand_s == timer.demand_s and blind_s == timer.blind_s:
        return timer
    return Timer(verdict, demand_s, blind_s, blind)

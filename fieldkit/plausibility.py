"""Values that came over the wire whole and in range, and still cannot be true.

- An impossible step is UNCERTAIN until two of the three samples after it confirm it.
- A value outside its normal band is UNCERTAIN in the first polls after a reconnect, where devices tell start values.

Pure but for the one class that keeps the states; a heartbeat that stands still is ``fieldkit.pulse``'s matter.
Contacts and leak inputs have no rule and pass untouched: they act at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from fieldkit.point import PointType
from fieldkit.profile import Profile
from fieldkit.reading import Quality, Reading, Reason

SETTLING_POLLS: Final = 3
"""Polls after a reconnect in which a value outside its normal band is not yet believed."""
LEAST_INTERVAL_S: Final = 0.25
"""A step is judged as if it took at least this long: devices renew their registers less often than they are polled."""
CONFIRMATIONS: Final = 2
CONFIRM_WITHIN: Final = 3
"""An impossible step is believed once 2 of the 3 samples after it agree with it."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What is plausible for one point.

    max_rate  fastest possible change in the point's unit per second; None = any step is possible
    norm      normal band in the point's unit, believed at once after a reconnect; None = every value is
    """

    max_rate: float | None = None
    norm: tuple[float, float] | None = None


class PointState(NamedTuple):
    """What is remembered of one point.

    value, at_s   the last believed sample; value is None before the first
    seen_s        when the last judged sample was taken
    verdict       why that sample was not believed, None when it was
    settling      polls left in which the point counts as just reconnected
    doubt         the impossible sample that waits to be confirmed, None when none does
    agreed, left  samples that confirmed it, and samples left in which it can be
    """

    value: float | None = None
    at_s: float = float("-inf")
    seen_s: float = float("-inf")
    verdict: Reason | None = None
    settling: int = SETTLING_POLLS
    doubt: float | None = None
    agreed: int = 0
    left: int = 0


_new = PointState._make
FRESH: Final = PointState()


class Plausibility:
    """The filters of many tags, each with its state; called with every decoded reading, in the order of time."""

    def __init__(self, rules: Mapping[str, Rule]) -> None:
        """Take the rules by tag; tags without one pass untouched."""
        self._rules = dict(rules)
        self._states = dict.fromkeys(self._rules, FRESH)

    def __call__(self, reading: Reading) -> Reading:
        """Return ``reading``, made UNCERTAIN where it cannot be believed yet."""
        rule = self._rules.get(reading.tag)
        if rule is None:
            return reading
        self._states[reading.tag], judged = judge(rule, self._states[reading.tag], reading)
        return judged

    def reconnected(self) -> None:
        """Take note that the devices were away: their next values are looked at with care."""
        for tag, state in self._states.items():
            self._states[tag] = state._replace(settling=SETTLING_POLLS)


def rules_of(profile: Profile, tags: Mapping[str, str], norms: Mapping[str, tuple[float, float]]) -> dict[str, Rule]:
    """Return the rules of ``tags`` (tag to point of ``profile``): the profile's rates, the site's normal bands.

    Contacts, leak inputs and points with neither get none.
    """
    out: dict[str, Rule] = {}
    for tag, name in tags.items():
        point = profile.points[name]
        norm = norms.get(tag)
        if point.type is not PointType.BIT and (point.max_rate is not None or norm is not None):
            out[tag] = Rule(point.max_rate, norm)
    return out


def judge(rule: Rule, state: PointState, reading: Reading) -> tuple[PointState, Reading]:
    """Return the point's next state and the reading, made UNCERTAIN where it cannot be believed yet.

    Rates are computed from the samples' own ``at_s``. A reading that is not GOOD passes and confirms nothing; a
    sample that was judged before gets the same verdict again and confirms nothing either.
    """
    value = reading.value
    if value is None or reading.quality is not Quality.GOOD:
        return state, reading
    last, at_s, seen_s, verdict, settling, doubt, _, _ = state
    taken_s = reading.at_s
    if taken_s <= seen_s:
        return state, reading if verdict is None else _doubted(reading, verdict)
    if last is not None and not settling and doubt is None:
        elapsed_s = taken_s - at_s
        rate = rule.max_rate
        if rate is None or abs(value - last) <= rate * (
            elapsed_s if elapsed_s > LEAST_INTERVAL_S else LEAST_INTERVAL_S
        ):
            return _new((value, taken_s, taken_s, None, 0, None, 0, 0)), reading
    after = _weighed(rule, state, value, taken_s)
    return after, reading if after.verdict is None else _doubted(reading, after.verdict)


def _weighed(rule: Rule, state: PointState, value: float, taken_s: float) -> PointState:
    """Return the state after a sample that has to be thought about; its ``verdict`` is the sample's."""
    settling = max(state.settling - 1, 0)
    unsettled = state.settling > 0 and rule.norm is not None and not rule.norm[0] <= value <= rule.norm[1]
    if unsettled:
        return state._replace(seen_s=taken_s, verdict=Reason.RANGE, settling=settling)
    believed = PointState(value, taken_s, taken_s, None, settling)
    if state.value is None or rule.max_rate is None:
        return believed
    step = rule.max_rate * max(taken_s - state.at_s, LEAST_INTERVAL_S)
    if abs(value - state.value) <= step:
        left = state.left - 1
        return believed if left <= 0 else believed._replace(doubt=state.doubt, agreed=state.agreed, left=left)
    doubted = state._replace(seen_s=taken_s, verdict=Reason.RATE, settling=settling, doubt=value)
    if state.doubt is None or not _agrees(state.value, state.doubt, value, rule.max_rate * LEAST_INTERVAL_S):
        return doubted._replace(agreed=0, left=CONFIRM_WITHIN)
    if state.agreed + 1 >= CONFIRMATIONS:
        return believed
    if state.left <= 1:
        return doubted._replace(agreed=0, left=CONFIRM_WITHIN)
    return doubted._replace(agreed=state.agreed + 1, left=state.left - 1)


def _agrees(believed: float, doubt: float, value: float, step: float) -> bool:
    """Tell whether ``value`` confirms ``doubt``: near it, or still further away from what was believed."""
    further = (value - doubt) * (doubt - believed) >= 0.0
    return further or abs(value - doubt) <= step


def _doubted(reading: Reading, reason: Reason) -> Reading:
    return replace(reading, quality=Quality.UNCERTAIN, reason=reason)

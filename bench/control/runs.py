"""The scenarios: a set-point step between two long rests, and steps of the header's pressure difference."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from bench.control.contestants import PERIOD_S, Contestant, Ideal, Ours, Pi
from bench.control.plant import STEP_S, Branch, Plant
from valvey.core.flow_state import Tuning

LOW_LPM, HIGH_LPM = 120.0, 200.0
BAND = 0.05
#: Before the step: time to settle, then time whose reversals count; after it: likewise.
SETTLE_S, REST_S, AFTER_S = 120.0, 480.0, 600.0
WATCH_S = 60.0
#: What is known of Kv_rest at commissioning, and so of where a seed's tuning may begin.
KV_KNOWN = 0.30

Subject = str
SUBJECTS: tuple[Subject, ...] = ("valvey", "pi_fixed", "pi_scheduled", "pi_tuned", "limit")


def contestant(subject: Subject, plant: Plant, seed: int, tuning: Tuning) -> Contestant:
    """Return ``subject`` as it takes over ``plant``.

    valvey         knows Kv_rest only within ±30 %, each seed another way, and begins without having learned anything
    pi_fixed       gain and integral that overshoot by 18 % on this step, as a loop set up for speed does
    pi_scheduled   the same with its gain after the valve's slope
    pi_tuned       the best of a grid of 20 pairs on this very step: a plain PI loop as good as it can be made here
    limit          knows everything, sees without noise and lag, drive without dead band: what the motor allows
    """
    position = plant.position_pct
    match subject:
        case "valvey":
            known = tuning.kv_rest_m3_h * random.Random(f"kv {seed}").uniform(1.0 - KV_KNOWN, 1.0 + KV_KNOWN)
            return Ours(replace(tuning, kv_rest_m3_h=known), position, plant.flow_lpm)
        case "pi_fixed":
            return Pi(0.15, 4.0, False, tuning, position)
        case "pi_scheduled":
            return Pi(0.15, 4.0, True, tuning, position)
        case "pi_tuned":
            return Pi(0.15, 8.0, False, tuning, position)
        case _:
            return Ideal(plant.branch)


def branch_of(subject: Subject, branch: Branch) -> Branch:
    """The same branch, for the limit without noise, meter and dead band."""
    if subject != "limit":
        return branch
    return replace(branch, dead_band=0.0, noise=0.0, pressure_noise=0.0, meter_s=0.0, meter_dead_s=0.0)


class _Run:
    def __init__(self, subject: Subject, branch: Branch, tuning: Tuning, seed: int, flow_lpm: float) -> None:
        self.plant = Plant(branch_of(subject, branch), flow_lpm, seed)
        self.loop = contestant(subject, self.plant, seed, tuning)
        self._steps = 0
        self._every = round(PERIOD_S / STEP_S)
        self._command_pct = self.plant.position_pct

    def go(
        self,
        seconds: float,
        setpoint_lpm: float,
        note: Callable[[float, float], None],
        kpa: Callable[[float], float] | None = None,
    ) -> None:
        """Run on; tell ``note`` the seconds since the call and the share by which the true flow is off."""
        for step in range(round(seconds / STEP_S)):
            if kpa is not None:
                self.plant.header_kpa = kpa(step * STEP_S)
            if self._steps % self._every == 0:
                self._command_pct = self.loop.command_pct(self.plant.seen(), setpoint_lpm)
            self._steps += 1
            self.plant.advance(self._command_pct)
            note((step + 1) * STEP_S, self.plant.flow_lpm / setpoint_lpm - 1.0)


def _ignore(_seconds: float, _off: float) -> None:
    return


@dataclass(slots=True)
class Track:
    """What is kept of a stretch: the last moment outside the band, the time spent there, and the worst either way."""

    last_s: float = 0.0
    outside_s: float = 0.0
    above: float = 0.0
    below: float = 0.0

    def __call__(self, seconds: float, off: float) -> None:
        if abs(off) > BAND:
            self.last_s = seconds
            self.outside_s += STEP_S
        self.above, self.below = max(self.above, off), max(self.below, -off)


def step_run(subject: Subject, branch: Branch, tuning: Tuning, seed: int) -> dict[str, float]:
    """120 → 200 L/min. ``into_s``: the true flow was last outside ±5 % then; AFTER_S when it never stayed inside."""
    run, track = _Run(subject, branch, tuning, seed, LOW_LPM), Track()
    run.go(SETTLE_S, LOW_LPM, _ignore)
    run.plant.reversals = 0
    run.go(REST_S, LOW_LPM, _ignore)
    run.go(AFTER_S, HIGH_LPM, track)
    return {
        "into_s": track.last_s,
        "overshoot_pct": 100.0 * track.above,
        "reversals_per_h": run.plant.reversals * 3600.0 / (REST_S + AFTER_S),
    }


def dp_run(
    subject: Subject, branch: Branch, tuning: Tuning, seed: int, share: float, ramp_s: float
) -> dict[str, float]:
    """The header's pressure difference moves by ``share`` within ``ramp_s`` (0: at once) while 200 L/min are wanted."""
    run, track, before = _Run(subject, branch, tuning, seed, HIGH_LPM), Track(), branch.header_kpa
    run.go(SETTLE_S, HIGH_LPM, _ignore)
    run.go(WATCH_S, HIGH_LPM, track, lambda t: before * (1.0 + share * (min(1.0, t / ramp_s) if ramp_s > 0.0 else 1.0)))
    return {"worst_pct": 100.0 * max(track.above, track.below), "beyond_5pct_s": track.outside_s}

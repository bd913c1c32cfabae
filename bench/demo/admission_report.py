"""What act 4 measured: the gates of each newcomer with what they showed, and what the neighbours felt."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean
from typing import Any

from bench.demo.claims import ADMIT_NEIGHBOUR_PCT, ADMIT_TRIPS, ADMITTED_POWER_PCT, Claim
from bench.demo.newcomers import WEAK
from bench.demo.outcome import Outcome, Rows
from bench.demo.plots import COLOURS, Line, Plot, thinned
from bench.demo.sampling import Samples, furthest, rolling_mean
from bench.demo.stage import Stage
from racky.core.lifecycle_chart import STEPS

NEW = "r05"
AFTER_S = 60.0
"""Simulated seconds that the admitted rack works before the next one comes."""
WINDOW_S = 10.0
HOSE_GATE, HOSE_SAYS = "work", "does not hold its pressure"
"""What a leak under test pressure must close, and Valvey's own word for it: a refusal for anything else proves nothing."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in its life a rack came, and when (simulated seconds)."""

    at_s: float
    state: str
    step: str


@dataclass
class Course:
    """One newcomer's way. ``report`` as its Racky told it last: a row a gate."""

    rack: str
    racked_s: float
    ended_s: float = 0.0
    places: list[Place] = field(default_factory=list)
    report: list[dict[str, Any]] = field(default_factory=list)

    @property
    def at(self) -> tuple[str, str]:
        return (self.places[-1].state, self.places[-1].step) if self.places else ("", "")

    @property
    def state(self) -> str:
        return self.at[0]

    @property
    def leaked(self) -> bool:
        """Whether it was refused for what its test of pressure showed."""
        return any(
            gate["gate"] == HOSE_GATE and not gate["ok"] and HOSE_SAYS in str(gate["detail"]) for gate in self.report
        )

    @property
    def refused(self) -> list[str]:
        return [str(gate["gate"]) for gate in self.report if not gate["ok"]]

    def passed(self, state: str) -> bool:
        return any(place.state == state for place in self.places)


def outcome_of(
    stage: Stage, samples: Samples, courses: Sequence[Course], trips: dict[str, int], begin_s: float
) -> Outcome:
    """Judge the act. ``trips``: of the racks in service, since ``begin_s``."""
    racks = [_newcomer(stage, course, samples) for course in courses]
    neighbours = [_neighbour(name, samples, begin_s, count) for name, count in trips.items()]
    act = {
        "id": "admission",
        "speed": stage.options.speed,
        "ok": False,
        "racks": racks,
        "neighbours": neighbours,
    }
    claims = _claims(act)
    act["ok"] = all(claim.ok for claim in claims)
    t_s = [at_s - begin_s for at_s in samples.t_s]
    return Outcome(
        act=act,
        claims=claims,
        title=f"{NEW} is proven and admitted; {WEAK}, with a weak hose, is refused",
        story=f"Each newcomer was racked dry, shut and unpowered, {NEW} one firmware behind. A person armed its Valvey and asked its Racky for the "
        "admission. Racky identified and updated its devices, had Valvey fill, test and open it, powered it in sequence and burnt it in. "
        "A gate that is not met refuses the rack; only a rack that met every one enters PRODUCTION.",
        plots=_plots(samples, t_s, [course.rack for course in courses]),
        x_label="simulated s since the first was racked",
        clock="simulated s since the first was racked",
        timeline=_timeline(courses, begin_s),
        tables=[_gate_rows(course) for course in courses] + [_neighbour_rows(neighbours)],
    )


def _newcomer(stage: Stage, course: Course, samples: Samples) -> dict[str, Any]:
    rows, rack = samples.racks[course.rack], stage.rack(course.rack)
    last = slice(samples.after(samples.t_s[-1] - WINDOW_S), None)
    since = slice(samples.after(course.racked_s), None)
    return {
        "rack": course.rack,
        "state": course.state,
        "took_s": round(course.ended_s - course.racked_s, 1),
        "gates": len(course.report),
        "passed": sum(bool(gate["ok"]) for gate in course.report),
        "refused_by": course.refused,
        "leaked": course.leaked,
        "evidence": [gate for gate in course.report if not gate["ok"]],
        "updated": course.passed("COOLING"),
        "most_kw": round(max(rows["busbar_kw"][since]), 1),
        "power_kw": round(fmean(rows["busbar_kw"][last]), 1),
        "rated_kw": rack.rated_kw,
        "flow_lpm": round(fmean(rows["flow_supply_lpm"][last]), 1),
        "spilled_l": round(rows["spilled_l"][-1], 3),
        "steps_s": {f"{a.state} {a.step}": round(b.at_s - a.at_s, 1) for a, b in pairwise(course.places)},
        "report": course.report,
    }


def _neighbour(name: str, samples: Samples, begin_s: float, trips: int) -> dict[str, Any]:
    """Flow against what the rack asked for then, as a mean over ten seconds, from ``begin_s`` on."""
    wish, first = samples.wish(name), samples.after(begin_s)
    changes = [100.0 * (one - 1.0) for one in rolling_mean(samples.t_s[first:], wish[first:], WINDOW_S)]
    worst = furthest(changes)
    at_s = samples.t_s[first + changes.index(worst)] - begin_s if changes else 0.0
    return {"rack": name, "worst_pct": round(worst, 3), "worst_at_s": round(at_s, 1), "trips": trips}


def _claims(act: dict[str, Any]) -> list[Claim]:
    racks = {one["rack"]: one for one in act["racks"]}
    good, weak = racks.get(NEW, {}), racks.get(WEAK, {})
    admitted = good.get("state") == "PRODUCTION" and not good["refused_by"]
    refused = weak.get("state") == "QUARANTINED" and weak["leaked"]
    share = 100.0 * good["power_kw"] / good["rated_kw"] if admitted else 0.0
    worst = max((abs(one["worst_pct"]) for one in act["neighbours"]), default=0.0)
    # fmt: off
    return [
        Claim("admit.r05", f"{NEW}: gates met on its way into PRODUCTION, of {good.get('gates', 0)}", float(good["passed"]) if admitted else 0.0, ">=", max(1.0, float(good.get("gates", 0))), "gates"),
        Claim("admit.power", f"{NEW}: power of its first job, of its rating", share, ">=", ADMITTED_POWER_PCT, "%"),
        Claim("refuse.weak_hose", f"{WEAK}: QUARANTINED because it does not hold the pressure of its test", float(refused), ">=", 1.0, "-"),
        Claim("refuse.unpowered", f"{WEAK}: most power it ever had", float(weak.get("most_kw", 1e9)), "<=", 0.0, "kW"),
        Claim("admit.neighbours", "furthest flow of any rack in service from what it asks for, mean over 10 s", worst, "<=", ADMIT_NEIGHBOUR_PCT, "%"),
        Claim("admit.trips", "trips of the racks in service", float(sum(one["trips"] for one in act["neighbours"])), "<=", ADMIT_TRIPS, "-"),
    ]
    # fmt: on


def _timeline(courses: Sequence[Course], begin_s: float) -> list[tuple[float, str]]:
    rows = []
    for course in courses:
        rows.append((course.racked_s - begin_s, f"{course.rack} is racked"))
        for place in course.places:
            first = STEPS_OF.get(place.state) == place.step
            text = f"{course.rack}: {place.state}" + ("" if first else f", {place.step}")
            rows.append((place.at_s - begin_s, text))
    return rows


STEPS_OF = {str(state): str(steps[0]) for state, steps in STEPS.items() if len(steps) == 1}
"""States of one step: their step is not worth a word."""


def _gate_rows(course: Course) -> Rows:
    rows = [
        (gate["gate"], gate["stage"], _shown(gate["measured"], gate["unit"]), f"{_limit(gate['low'])} … {_limit(gate['high'])}",
         gate["detail"], "holds" if gate["ok"] else "FAILS")
        for gate in course.report
    ]  # fmt: skip
    return Rows(f"{course.rack}: {course.state}", ("gate", "stage", "measured", "low … high", "evidence", ""), rows)


def _shown(value: object, unit: str) -> str:
    return f"{value:.4g} {unit}".rstrip(" -") if isinstance(value, int | float) else "not measured"


def _limit(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) else ""


def _neighbour_rows(neighbours: Sequence[dict[str, Any]]) -> Rows:
    rows = [
        (one["rack"], f"{one['worst_pct']:+.2f}", f"{one['worst_at_s']:.0f}", str(one["trips"])) for one in neighbours
    ]
    return Rows("the racks in service meanwhile", ("rack", "furthest flow from its wish %", "at s", "trips"), rows)


def _plots(samples: Samples, t_s: list[float], new: Sequence[str]) -> list[Plot]:
    x = thinned(t_s)
    colours = dict(zip(sorted(samples.racks), COLOURS, strict=False))

    def lines(key: str, names: Sequence[str]) -> list[Line]:
        return [Line(name, thinned(samples.racks[name][key]), colours[name]) for name in names]

    every = sorted(samples.racks)
    return [
        Plot("SIMULATED: coolant in the newcomers", "L", x, lines("inventory_l", new)),
        Plot("flow", "L/min", x, lines("flow_supply_lpm", every)),
        Plot("supply pressure inside the newcomers", "kPa", x, lines("p_supply_kpa", new)),
        Plot("load", "kW", x, lines("busbar_kw", every)),
        Plot("return temperature", "°C", x, lines("t_return_c", every)),
    ]

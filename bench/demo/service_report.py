"""Act 2 in figures: what the service did to the rack, to its neighbours, and how the claims stand."""

from dataclasses import dataclass
from statistics import fmean
from typing import Any

from bench.demo.alarms import counts, not_counted
from bench.demo.asking import Ended
from bench.demo.claims import (
    FILLED_SHARE,
    RESUMED_PCT,
    SERVICE_GRANTS,
    SERVICE_NEIGHBOUR_PCT,
    SERVICE_SHUT_KPA,
    SERVICE_VOLUME_PCT,
    Claim,
)
from bench.demo.listener import Listener
from bench.demo.outcome import Outcome, Rows
from bench.demo.plots import COLOURS, Line, Plot, thinned
from bench.demo.sampling import Samples, against_wave, furthest, rolling_mean, wave_of
from bench.demo.site import LOOP
from bench.demo.stage import Stage

RACK = "r03"
LOW_SHARE = 0.6
"""A training job between two of its bursts draws so much of its peak."""
PERIODS_S = {"r01": 2.0, "r02": 10.0, "r04": 30.0}
"""Square waves of 1, 5 and 15 s up and down; all fit 30 s."""
COMMON_S = 30.0
BEFORE_S = 60.0
WINDOW_S = 10.0


@dataclass(frozen=True, slots=True)
class Mark:
    """How much each rack had said when the service began."""

    trips: dict[str, int]
    alarms: dict[str, int]
    events: dict[str, int]
    loop_events: int

    @classmethod
    def of(cls, bus: Listener) -> "Mark":
        return cls(
            {name: len(news.facts("trip")) for name, news in bus.racks.items()},
            {name: len(news.raised) for name, news in bus.racks.items()},
            {name: len(news.events) for name, news in bus.racks.items()},
            len(bus.loops[LOOP].events),
        )


@dataclass(frozen=True, slots=True)
class Course:
    """The service as it went: ``begin_s`` the waves of load began, ``start_s`` the first of ``parts`` requests was made."""

    stage: Stage
    bus: Listener
    samples: Samples
    ended: list[Ended]
    mark: Mark
    begin_s: float
    start_s: float
    parts: int


def outcome_of(course: Course) -> Outcome:
    """Return the act's figures, claims and curves."""
    samples, ended, start_s = course.samples, course.ended, course.start_s
    neighbours = [_neighbour(course, name) for name in PERIODS_S]
    act = {
        "id": "service", "speed": course.stage.options.speed, "ok": False, "rack": RACK, "window_s": WINDOW_S,
        "requests": [
            {"request": one.request, "status": one.status, "reason": one.reason, "took_s": round(one.took_s, 1), "steps": list(one.steps),
             "asked_again_for": list(one.refusals)}
            for one in ended
        ],
        **_own(course), "neighbours": [one for one, _ in neighbours],
    }  # fmt: skip
    claims = _claims(act, course.parts)
    act["ok"] = all(claim.ok for claim in claims)
    t_s = [at_s - start_s for at_s in samples.t_s]
    return Outcome(
        act=act,
        claims=claims,
        title=f"{RACK} is serviced while its neighbours compute",
        story=f"{RACK} was isolated, drained, filled, tested and returned by requests at its own door, each under a grant of the "
        f"coordinator. Its neighbours ran square waves of load ({', '.join(f'{n} {p / 2:g} s' for n, p in PERIODS_S.items())} up and down). "
        f"Their flow against what they ask for is compared, as a mean over {WINDOW_S:g} s, with what it was at the same place of the wave "
        f"in the {BEFORE_S:g} s before.",
        plots=_plots(samples, t_s, dict(zip(PERIODS_S, (curve for _, curve in neighbours), strict=True))),
        x_label="simulated s after the first request",
        clock="simulated s",
        timeline=_timeline(ended),
        tables=[_request_rows(ended), _neighbour_rows(act["neighbours"])],
    )


def _neighbour(course: Course, name: str) -> tuple[dict[str, Any], list[float]]:
    """Figures of one neighbour, and the curve of its deviation over all samples, %.

    Its flow is seen against what it asks for: its flow control trims its set-point by itself, service or no service.
    """
    samples, mark, start_s = course.samples, course.mark, course.start_s
    curve, plain = (_against_before(course, values) for values in (samples.wish(name), samples.flow(name)))
    first, last = samples.after(start_s - BEFORE_S), samples.after(start_s)
    before = curve[samples.after(start_s - BEFORE_S + WINDOW_S) : last]
    news = course.bus.racks[name]
    figures = {
        "rack": name,
        "power_kw": course.stage.rack(name).rated_kw,
        "period_s": PERIODS_S[name],
        "flow_before_lpm": round(fmean(samples.flow(name)[first:last]), 2),
        "worst_deviation_pct": round(furthest(curve[last:]), 3),
        "deviation_before_pct": round(furthest(before), 3),
        "settled_deviation_pct": round(curve[-1], 3),
        "worst_flow_change_pct": round(furthest(plain[last:]), 3),
        "trips": len(news.facts("trip")) - mark.trips[name],
        "alarms": sum(counts(alarm, course.stage.options.speed) for alarm in news.raised[mark.alarms[name] :]),
        "alarm_ids": news.raised[mark.alarms[name] :],
    }
    return figures, curve


def _against_before(course: Course, values: list[float]) -> list[float]:
    """Mean over the window, of each value against the mean at the same place of the wave before the service, %."""
    samples, t_s = course.samples, course.samples.t_s
    first, last = samples.after(course.start_s - BEFORE_S), samples.after(course.start_s)
    wave = wave_of(t_s[first:last], values[first:last], COMMON_S, course.begin_s)
    return rolling_mean(t_s, against_wave(t_s, values, wave, COMMON_S, course.begin_s), WINDOW_S)


def _own(course: Course) -> dict[str, Any]:
    """What became of the rack itself, by the plant's true values and by what rack and loop told."""
    samples, bus, mark = course.samples, course.bus, course.mark
    rows, rack, news = samples.racks[RACK], course.stage.rack(RACK), bus.racks[RACK]
    last = samples.after(course.start_s)
    before = sum(rows["flow_supply_lpm"][last - 60 : last]) / max(1, len(rows["flow_supply_lpm"][last - 60 : last]))
    events, loop_events = news.events[mark.events[RACK] :], bus.loops[LOOP].events[mark.loop_events :]
    granted = [one["fields"]["work"] for one in loop_events if one["fact"] == "lease_granted"]
    serving = news.state.get("state") == "FLOWING" and rows["busbar_kw"][-1] > 0.5 * rack.rated_kw
    return {
        "inventory_before_l": rows["inventory_l"][last],
        "drained_l": round(rows["inventory_l"][last] - min(rows["inventory_l"][last:]), 2),
        "sump_l": round(samples.cdu["sump_l"][-1] - samples.cdu["sump_l"][last], 2),
        "filled_l": round(rows["inventory_l"][-1], 2),
        "highest_pressure_kpa": round(max(rows["p_supply_kpa"][last:]), 1),
        "flow_before_lpm": round(before, 2),
        "flow_after_pct": round(100.0 * samples.wish(RACK)[-1], 2) if serving else 0.0,
        "grants": granted,
        "uncoordinated": sum(1 for one in events if one["fact"] == "uncoordinated"),
        "records": [one["fields"]["request"] for one in events if one["fact"] == "ended"],
        "trips": len(news.facts("trip")) - mark.trips[RACK],
        "set_point_held": [
            {key: one["fields"].get(key) for key in ("racks", "took_s", "from", "to", "worst_pct", "settled_pct")}
            for one in loop_events
            if one["fact"] == "set_point_released"
        ],
    }


def _claims(act: dict[str, Any], parts: int) -> list[Claim]:
    neighbours, requests = act["neighbours"], act["requests"]
    worst = max(abs(one["worst_deviation_pct"]) for one in neighbours)
    volume = act["inventory_before_l"]
    succeeded = sum(one["status"] == "succeeded" for one in requests)
    lasting = sum(one["request"] not in {"lock", "unlock"} for one in requests)
    # fmt: off
    return [
        Claim("service.requests", "requests of the service that succeeded", float(succeeded), ">=", float(parts), "-"),
        Claim("service.resumed", "flow of the serviced rack, in service again, of what it asks for", act["flow_after_pct"], ">=", RESUMED_PCT, "%"),
        Claim("service.neighbour_deviation", f"{WINDOW_S:g} s mean of every neighbour's flow against what it asks for, and before", worst, "<=", SERVICE_NEIGHBOUR_PCT, "%"),
        Claim("service.neighbour_trips", "trips of neighbours", float(sum(one["trips"] for one in neighbours)), "<=", 0.0, "-"),
        Claim("service.neighbour_alarms", f"alarms of neighbours{not_counted(act['speed'])}", float(sum(one["alarms"] for one in neighbours)), "<=", 0.0, "-"),
        Claim("service.trips", "trips of the serviced rack", float(act["trips"]), "<=", 0.0, "-"),
        Claim("service.grants", "works that the coordinator granted", float(len(act["grants"])), ">=", float(SERVICE_GRANTS), "-"),
        Claim("service.uncoordinated", "works that went on without the coordinator", float(act["uncoordinated"]), "<=", 0.0, "-"),
        Claim("service.drained", "coolant that was drained, of what was in the rack", 100.0 * act["drained_l"] / volume, ">=", SERVICE_VOLUME_PCT, "%"),
        Claim("service.filled", "coolant in the rack at the end, of that before", 100.0 * act["filled_l"] / volume, ">=", FILLED_SHARE, "%"),
        Claim("service.pressure", "highest pressure in the serviced rack", act["highest_pressure_kpa"], "<=", SERVICE_SHUT_KPA, "kPa"),
        Claim("service.records", "works on record with their end", float(len(act["records"])), ">=", float(lasting), "-"),
    ]
    # fmt: on


def _timeline(ended: list[Ended]) -> list[tuple[float, str]]:
    out, at_s = [], 0.0
    for one in ended:
        steps = f" ({', '.join(one.steps)})" if one.steps else ""
        out.append((round(at_s, 1), f"{one.request} asked{steps}"))
        at_s += one.took_s
        out.append((round(at_s, 1), f"{one.request} {one.status}" + ("" if one.ok else f": {one.reason}")))
    return out


def _request_rows(ended: list[Ended]) -> Rows:
    head = ("request", "end", "took s", "steps")
    rows = [(one.request, one.status, f"{one.took_s:.0f}", ", ".join(one.steps)) for one in ended]
    return Rows(f"the service of {RACK}, request by request", head, rows)


def _neighbour_rows(neighbours: list[dict[str, Any]]) -> Rows:
    head = (
        "neighbour",
        "kW",
        "wave s",
        "flow before L/min",
        "worst %",
        "at the end %",
        "worst before %",
        "flow itself, worst %",
        "trips",
        "alarms",
    )
    rows = [
        (one["rack"], f"{one['power_kw']:.0f}", f"{one['period_s']:g}", f"{one['flow_before_lpm']:.1f}",
         f"{one['worst_deviation_pct']:+.2f}", f"{one['settled_deviation_pct']:+.2f}", f"{one['deviation_before_pct']:+.2f}",
         f"{one['worst_flow_change_pct']:+.2f}", str(one["trips"]), ", ".join(one["alarm_ids"]) or "0")
        for one in neighbours
    ]  # fmt: skip
    return Rows(
        f"while {RACK} was serviced: {WINDOW_S:g} s mean of the flow against what is asked for, and before", head, rows
    )


def _plots(samples: Samples, t_s: list[float], curves: dict[str, list[float]]) -> list[Plot]:
    colours = dict(zip(sorted(samples.racks), COLOURS, strict=False))
    x = thinned(t_s)
    flows = [
        Line(name, thinned(rolling_mean(samples.t_s, samples.flow(name), WINDOW_S)), colour)
        for name, colour in colours.items()
    ]
    change = [Line(name, thinned(curve), colours[name]) for name, curve in curves.items()]
    own = samples.racks[RACK]
    liquid = [
        Line("in the rack", thinned(own["inventory_l"]), colours[RACK]),
        Line("sump", thinned(samples.cdu["sump_l"])),
    ]
    pressure = [
        Line(RACK, thinned(own["p_supply_kpa"]), colours[RACK]),
        Line("supply", thinned(samples.cdu["p_supply_kpa"]), COLOURS[5]),
        Line("return", thinned(samples.cdu["p_return_kpa"]), COLOURS[4]),
    ]
    title = f"SIMULATED: {RACK} is isolated, drained, filled, tested and returned; flow, {WINDOW_S:g} s mean"
    return [
        Plot(title, "L/min", x, flows),
        Plot("its neighbours' flow against what they ask for, and before, 10 s mean", "%", x, change),
        Plot(f"coolant in {RACK} and in the sump", "L", x, liquid),
        Plot(f"pressure in {RACK} and in the headers", "kPa", x, pressure),
    ]

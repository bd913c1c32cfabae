"""Act 3: one of the CDU's pumps trips at full load, and the coordinator shares what is left of the flow by priority.

What the racks' schedulers would do, the demo does: each keeps its load at the power that the coordinator says its flow
can carry away, and goes back to full load when it says nothing any more.
"""

import asyncio
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from bench.demo.claims import (
    ABOVE_CEILING_PCT,
    LL_PCT,
    RECOVERED_PCT,
    RETURN_C,
    SHARED_WITHIN_S,
    UNFAIR_PCT,
    Claim,
)
from bench.demo.listener import Listener
from bench.demo.outcome import Outcome, Rows
from bench.demo.plots import COLOURS, Line, Plot, thinned
from bench.demo.sampling import Sampler, Samples
from bench.demo.screen import Screen
from bench.demo.site import LOOP, priorities
from bench.demo.stage import Stage
from firmware_sim.demo_plant import LPM_PER_KW
from firmware_sim.plant_config import RackConfig

PUMP = 1
SETTLE_S, SHORT_S, RECOVER_S = 45.0, 180.0, 150.0
"""Simulated seconds: before the trip (the coordinator grants and shares after 30), with one pump, and with both again."""
STEADY_S = 30.0
"""At the end of each stretch: what is judged as settled."""
EVERY_S = 0.5
MARGIN = 1.05
"""A rack asks for this much more than its power needs at a rise of 10 K."""


async def play(stage: Stage, bus: Listener, screen: Screen) -> Outcome:
    """Play the act."""
    say, ranks = screen.say, priorities()
    say(
        "full load: "
        + ", ".join(f"{rack.name} {rack.rated_kw:.0f} kW (priority {ranks[rack.name]})" for rack in stage.racks)
    )
    for rack in stage.racks:
        stage.ask("load", rack=rack.name, kw=rack.rated_kw)
    async with Sampler(stage, bus, EVERY_S) as sampler:
        await sampler.until(sampler.now_s + SETTLE_S)
        mark = {name: (len(news.facts("trip")), len(news.raised)) for name, news in bus.racks.items()}
        trip_s = sampler.now_s
        schedulers = asyncio.create_task(_schedule(stage, bus))
        told = asyncio.create_task(_first_ceilings(bus, sampler, trip_s))
        try:
            say(f"pump {PUMP} of 2 trips", "red")
            stage.ask("fault_add", kind="pump_trip", value=PUMP)
            await sampler.until(trip_s + SHORT_S)
            ceilings = _ceilings(bus)
            say(
                "what each rack may take: "
                + (", ".join(f"{n} {c['flow_lpm']:.0f} L/min" for n, c in ceilings.items()) or "anything")
            )
            back_s = sampler.now_s
            say(f"pump {PUMP} runs again")
            stage.ask("fault_clear", kind="pump_trip")
            await sampler.until(back_s + RECOVER_S)
        finally:
            for task in (schedulers, told):
                task.cancel()
            await asyncio.gather(schedulers, told, return_exceptions=True)
        told_s = told.result() if not told.cancelled() and told.exception() is None else None
    return _outcome(stage, bus, _Course(sampler.samples, trip_s, back_s, told_s, ceilings, mark))


@dataclass(frozen=True, slots=True)
class _Course:
    """The act as it went; ``mark`` is how many trips and alarms each rack had had before."""

    samples: Samples
    trip_s: float
    back_s: float
    told_s: float | None
    ceilings: dict[str, dict[str, float]]
    mark: dict[str, tuple[int, int]]


def _ceilings(bus: Listener) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = bus.loops[LOOP].state.get("detail", {}).get("ceilings", {})
    return found


async def _first_ceilings(bus: Listener, sampler: Sampler, since_s: float) -> float:
    while not _ceilings(bus):
        await bus.wait_for(lambda: bool(_ceilings(bus)), 1.0)
    return max(0.0, sampler.now_s - since_s)


async def _schedule(stage: Stage, bus: Listener) -> None:
    """Keep every rack's load at what its flow carries away, by what the coordinator told last."""
    loads = {rack.name: rack.rated_kw for rack in stage.racks}
    while True:
        ceilings = _ceilings(bus)
        for rack in stage.racks:
            kw = _load_kw(rack, ceilings)
            if abs(kw - loads[rack.name]) > 0.5:
                loads[rack.name] = kw
                await asyncio.to_thread(stage.ask, "load", rack=rack.name, kw=kw)
        await bus.wait_for(lambda known=ceilings: _ceilings(bus) != known, 1.0)  # type: ignore[misc]


def _load_kw(rack: RackConfig, ceilings: dict[str, dict[str, float]]) -> float:
    """The bus-bar load of a rack whose feeder may draw what its ceiling says."""
    if rack.name not in ceilings:
        return rack.rated_kw
    return min(rack.rated_kw, ceilings[rack.name]["power_kw"] * rack.feeder_efficiency)


def _outcome(stage: Stage, bus: Listener, course: _Course) -> Outcome:
    ranks = priorities()
    racks = [_rack(rack, bus, course, ranks[rack.name]) for rack in stage.racks]
    act = {
        "id": "shortage", "speed": stage.options.speed, "ok": False, "pump": PUMP,
        "told_s": None if course.told_s is None else round(course.told_s, 1),
        "ceilings": course.ceilings, "racks": racks,
        "flow_before_lpm": _total(course, course.trip_s), "flow_short_lpm": _total(course, course.back_s),
        "flow_after_lpm": _total(course, course.samples.t_s[-1]),
    }  # fmt: skip
    claims = _claims(act)
    act["ok"] = all(claim.ok for claim in claims)
    t_s = [at_s - course.trip_s for at_s in course.samples.t_s]
    return Outcome(
        act=act,
        claims=claims,
        title="A pump trips, and the flow is shared",
        story=f"Pump {PUMP} of two tripped at full load. The coordinator gave every rack half of what it needed, and the rest by priority; "
        "the racks' schedulers kept their loads at what that flow carries away. Then the pump came back.",
        plots=_plots(course, t_s),
        x_label="simulated s after the pump's trip",
        clock="simulated s after the pump's trip",
        timeline=_timeline(course),
        tables=[_rows(racks)],
    )


def _window(samples: Samples, end_s: float) -> slice:
    return slice(samples.after(end_s - STEADY_S), samples.after(end_s))


def _total(course: _Course, end_s: float) -> float:
    window = _window(course.samples, end_s)
    return round(sum(fmean(course.samples.flow(name)[window]) for name in course.samples.racks), 1)


def _need_lpm(rack: RackConfig, busbar_kw: float) -> float:
    """What a rack's flow control asks for at a load, before it has trimmed anything."""
    return MARGIN * LPM_PER_KW * busbar_kw / rack.feeder_efficiency


def _rack(rack: RackConfig, bus: Listener, course: _Course, priority: int) -> dict[str, Any]:
    samples, name = course.samples, rack.name
    rows, flow = samples.racks[name], samples.flow(name)
    short = _window(samples, course.back_s)
    settled, full = fmean(flow[short]), _need_lpm(rack, rack.rated_kw)
    first = samples.after(course.trip_s)
    needs = [LPM_PER_KW * kw for kw in rows["busbar_kw"][first:]]
    least = min((lpm / need for lpm, need in zip(flow[first:], needs, strict=True) if need > 1.0), default=0.0)
    ceiling = course.ceilings.get(name, {}).get("flow_lpm")
    trips, alarms = course.mark[name]
    news = bus.racks[name]
    return {
        "rack": name, "priority": priority, "power_kw": rack.rated_kw,
        "flow_before_lpm": round(fmean(flow[_window(samples, course.trip_s)]), 1),
        "ceiling_lpm": None if ceiling is None else round(ceiling, 1),
        "flow_short_lpm": round(settled, 1),
        "share_pct": round(100.0 * settled / full, 2),
        "above_ceiling_pct": None if ceiling is None else round(100.0 * (settled / ceiling - 1.0), 2),
        "power_short_kw": round(fmean(rows["busbar_kw"][short]), 1),
        "least_of_need_pct": round(100.0 * least, 1),
        "hottest_return_c": round(max(rows["t_return_c"][first:]), 2),
        "wish_after_pct": round(100.0 * fmean(samples.wish(name)[_window(samples, samples.t_s[-1])]), 2),
        "power_after_kw": round(rows["busbar_kw"][-1], 1),
        "trips": len(news.facts("trip")) - trips,
        "alarm_ids": news.raised[alarms:],
    }  # fmt: skip


def _claims(act: dict[str, Any]) -> list[Claim]:
    racks, never = act["racks"], 1e9
    above = [one["above_ceiling_pct"] for one in racks if one["above_ceiling_pct"] is not None]
    serving = all(one["power_after_kw"] > 0.99 * one["power_kw"] for one in racks)
    recovered = min(one["wish_after_pct"] for one in racks) if serving else 0.0
    # fmt: off
    return [
        Claim("shortage.shared", "pump trip → every rack told what it may take", never if act["told_s"] is None else act["told_s"], "<=", SHARED_WITHIN_S, "simulated s"),
        Claim("shortage.ceiling", "settled flow of every rack above what it may take", max(above, default=never), "<=", ABOVE_CEILING_PCT, "%"),
        Claim("shortage.priority", "share of its need by which a rack stands behind one of lower priority", _unfair_pct(racks), "<=", UNFAIR_PCT, "%-points"),
        Claim("shortage.least", "least flow of any rack, of what its load needs then", min(one["least_of_need_pct"] for one in racks), ">=", LL_PCT, "%"),
        Claim("shortage.return", "hottest return of any rack", max(one["hottest_return_c"] for one in racks), "<=", RETURN_C, "degC"),
        Claim("shortage.trips", "trips of racks", float(sum(one["trips"] for one in racks)), "<=", 0.0, "-"),
        Claim("shortage.recovered", "flow of every rack, the pump and full load back, of what it asks for", recovered, ">=", RECOVERED_PCT, "%"),
    ]
    # fmt: on


def _unfair_pct(racks: list[dict[str, Any]]) -> float:
    """By how much the worst served rack of a higher priority (a smaller number) stands behind one of a lower."""
    behind: list[float] = [
        other["share_pct"] - one["share_pct"] for one in racks for other in racks if one["priority"] < other["priority"]
    ]
    return max([0.0, *behind])


def _timeline(course: _Course) -> list[tuple[float, str]]:
    told = [] if course.told_s is None else [(course.told_s, "the coordinator has told every rack what it may take")]
    return [(0.0, f"pump {PUMP} trips"), *told, (course.back_s - course.trip_s, f"pump {PUMP} runs again")]


def _rows(racks: list[dict[str, Any]]) -> Rows:
    head = (
        "rack",
        "priority",
        "flow before L/min",
        "may take",
        "takes",
        "share of full need %",
        "kW then",
        "least of need %",
        "hottest °C",
        "trips",
        "alarms",
    )
    rows = [
        (one["rack"], str(one["priority"]), f"{one['flow_before_lpm']:.0f}",
         "-" if one["ceiling_lpm"] is None else f"{one['ceiling_lpm']:.0f}", f"{one['flow_short_lpm']:.0f}", f"{one['share_pct']:.0f}",
         f"{one['power_short_kw']:.0f}", f"{one['least_of_need_pct']:.0f}", f"{one['hottest_return_c']:.1f}", str(one["trips"]),
         ", ".join(one["alarm_ids"]) or "0")
        for one in racks
    ]  # fmt: skip
    return Rows("with one pump", head, rows)


def _plots(course: _Course, t_s: list[float]) -> list[Plot]:
    samples, x = course.samples, thinned(t_s)
    colours = dict(zip(sorted(samples.racks), COLOURS, strict=False))

    def lines(key: str) -> list[Line]:
        return [Line(name, thinned(samples.racks[name][key]), colour) for name, colour in colours.items()]

    headers = [
        Line("supply", thinned(samples.cdu["p_supply_kpa"]), COLOURS[0]),
        Line("return", thinned(samples.cdu["p_return_kpa"]), COLOURS[1]),
    ]
    return [
        Plot(
            f"SIMULATED: pump {PUMP} of two trips at 0 s and is back at {course.back_s - course.trip_s:.0f} s; flow",
            "L/min",
            x,
            lines("flow_supply_lpm"),
        ),
        Plot("load, kept at what the flow carries away", "kW", x, lines("busbar_kw")),
        Plot("return temperature", "°C", x, lines("t_return_c")),
        Plot("header pressures", "kPa", x, headers),
    ]

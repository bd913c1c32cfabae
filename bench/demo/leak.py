"""Act 1: all racks at full load; a 3 mm hole opens in the manifold of r02."""

import statistics
from dataclasses import dataclass
from typing import Any

from bench.demo.alarms import counts, not_counted
from bench.demo.claims import (
    NEIGHBOUR_PCT,
    OFF_PREDICTION_PCT,
    PROVEN_SHUT_S,
    SPILLED_L,
    WRITE_LATENCY_MS,
    Claim,
)
from bench.demo.listener import Listener
from bench.demo.outcome import Outcome, Rows
from bench.demo.plots import COLOURS, Line, Plot
from bench.demo.sampling import Sampler, Samples, furthest
from bench.demo.screen import Screen
from bench.demo.stage import Stage

RACK = "r02"
HOLE_MM = 3.0
HOLD_S = 0.5
PANEL_DELAY_S = 5.0
LOAD_S = 12.0
BEFORE_S = 3.0
AFTER_HOLE_S = 60.0
SETTLED_S = 8.0
EVERY_S = 0.2


async def play(stage: Stage, bus: Listener, screen: Screen) -> Outcome:
    """Play the act. Simulated seconds are divided by the stage's speed."""
    speed, say = stage.options.speed, screen.say
    say("loading the racks to " + ", ".join(f"{rack.name} {rack.rated_kw:.0f} kW" for rack in stage.racks))
    for rack in stage.racks:
        stage.ask("load", rack=rack.name, kw=rack.rated_kw)
    async with Sampler(stage, bus, EVERY_S) as sampler:
        await sampler.until(sampler.now_s + LOAD_S)
        trips = {name: len(news.facts("trip")) for name, news in bus.racks.items()}
        alarms = {name: len(news.raised) for name, news in bus.racks.items()}
        since = stage.ask("stamps", limit=1)["last_seq"]
        if_nobody_acts = stage.ask("steady", shut=[RACK])["flows_lpm"]
        hole_s = sampler.now_s
        say(f"a {HOLE_MM:g} mm hole opens in the manifold of {RACK}")
        stage.ask("fault_add", kind="leak", rack=RACK, place="manifold", value=HOLE_MM)
        steady: dict[str, list[float]] = {rack.name: [] for rack in stage.racks}
        await sampler.until(hole_s + AFTER_HOLE_S - SETTLED_S)
        while sampler.now_s < hole_s + AFTER_HOLE_S:
            for name, flow in stage.ask("steady", shut=[RACK])["flows_lpm"].items():
                steady[name].append(flow)
            await sampler.until(min(sampler.now_s + 1.0, hole_s + AFTER_HOLE_S))
        samples = sampler.samples
    stamps = stage.ask("stamps", since=since, rack=RACK)["stamps"]
    times = _times(stamps, hurried=speed != 1.0)
    spilled = samples.racks[RACK]["spilled_l"]
    neighbours = []
    for rack in stage.racks:
        if rack.name == RACK:
            continue
        one = _Neighbour(samples, rack.name, hole_s)
        news = bus.racks[rack.name]
        neighbours.append({
            "rack": rack.name,
            "power_kw": rack.rated_kw,
            "flow_before_lpm": round(one.before_lpm, 2),
            "worst_deviation_pct": round(one.worst_pct, 3),
            "settled_deviation_pct": round(one.settled_pct, 3),
            "predicted_pct": round(one.against_wish_pct(statistics.fmean(steady[rack.name])), 3),
            "flow_change_pct": round(one.change_pct, 3),
            "if_nobody_acts_pct": round(100.0 * (if_nobody_acts[rack.name] / one.before_lpm - 1.0), 3),
            "trips": len(news.facts("trip")) - trips[rack.name],
            "alarms": sum(counts(alarm, speed) for alarm in news.raised[alarms[rack.name] :]),
        })
    latches = bus.racks[RACK].state.get("latches", [])
    act = {
        "id": "leak", "speed": speed, "ok": False, "rack": RACK, "hole_mm": HOLE_MM,
        "first_out": latches[0]["sif"] if latches else None, "scan_s": stage.options.fast_s, "hold_s": HOLD_S, "panel_delay_s": PANEL_DELAY_S,
        "demand_to_write_ms": _round(times.write_ms), "demand_to_proven_shut_s": _round(times.shut_s),
        "spilled_l": round(spilled[-1] - spilled[samples.after(hole_s)], 2), "neighbours": neighbours,
    }  # fmt: skip
    claims = _claims(stage, act)
    act["ok"] = all(claim.ok for claim in claims)
    t_s = [at_s - hole_s for at_s in samples.t_s]
    return Outcome(
        act=act,
        claims=claims,
        title=f"A {HOLE_MM:g} mm leak in {RACK}",
        story=f"First-out: {act['first_out']}. {act['spilled_l']} L were lost within 60 s of the hole. "
        f"The leak panel needs {PANEL_DELAY_S:g} s to report; the trip holds {HOLD_S:g} s. A rack's flow control moves its own "
        "set-point slowly, leak or no leak: the neighbours' flow is compared with what they ask for.",
        plots=_plots(samples, t_s),
        x_label="s after the hole",
        clock="s after the leak bit",
        timeline=times.timeline,
        tables=[_neighbour_rows(neighbours)],
    )


class _Neighbour:
    """What one neighbour's flow did after the hole, against what the rack asked for at each moment.

    Not against the same before the hole: FCV-101 is moved by no less than its command band, so while what a rack asks for
    creeps, its flow stands up to a percent to either side of it, leak or no leak.
    """

    def __init__(self, samples: Samples, name: str, hole_s: float) -> None:
        flow, wish = samples.flow(name), samples.wish(name)
        before = slice(samples.after(hole_s - BEFORE_S), samples.after(hole_s))
        settled = slice(samples.after(hole_s + AFTER_HOLE_S - SETTLED_S), len(flow))
        self.before_lpm = statistics.fmean(flow[before])
        self._asked = [asked for asked in samples.asked[name][settled] if asked]
        self.worst_pct = furthest([100.0 * (one - 1.0) for one in wish[before.stop :]])
        self.settled_pct = 100.0 * (statistics.fmean(wish[settled]) - 1.0)
        self.change_pct = 100.0 * (statistics.fmean(flow[settled]) / self.before_lpm - 1.0)

    def against_wish_pct(self, flow_lpm: float) -> float:
        """A flow in the settled time, compared as the measured one is."""
        asked = statistics.fmean(self._asked) if self._asked else self.before_lpm
        return 100.0 * (flow_lpm / asked - 1.0)


@dataclass(frozen=True, slots=True)
class Times:
    """Latencies by the simulator's own stamps; None when the event never came."""

    write_ms: float | None
    shut_s: float | None
    timeline: list[tuple[float, str]]


_STORY = {
    ("register", "LDT-101", 1.0): "the leak panel sets LDT-101",
    ("command", "XS-101 command", 0.0): "permit off received",
    ("command", "XV-101 command", 0.0): "supply valve: shut received",
    ("command", "XV-102 command", 0.0): "return valve: shut received",
    ("register", "XI-101", 0.0): "power contactor open",
    ("register", "ZSC-101", 1.0): "supply valve proven shut",
    ("register", "ZSC-102", 1.0): "return valve proven shut",
}


def _times(stamps: list[dict[str, Any]], *, hurried: bool) -> Times:
    """By the machine's clock; of a hurried run by the simulated one, and without the latency, which is the machine's own."""
    first: dict[str, float] = {}
    for stamp in stamps:
        text = _STORY.get((stamp["kind"], stamp["what"], float(stamp["value"])))
        if text is not None:
            first.setdefault(text, stamp["sim_s"] if hurried else stamp["mono_ns"] / 1e9)
    demand_s = first.get("the leak panel sets LDT-101")
    if demand_s is None:
        return Times(None, None, [])
    write_s = first.get("supply valve: shut received")
    both = [first.get(f"{name} valve proven shut") for name in ("supply", "return")]
    shut_s = None if None in both else max(s for s in both if s is not None) - demand_s
    timeline = sorted((at_s - demand_s, text) for text, at_s in first.items())
    write_ms = None if write_s is None or hurried else (write_s - demand_s - HOLD_S) * 1000.0
    return Times(write_ms, shut_s, timeline)


def _claims(stage: Stage, act: dict[str, Any]) -> list[Claim]:
    never = 1e9
    neighbours = act["neighbours"]
    off = max(abs(one["settled_deviation_pct"] - one["predicted_pct"]) for one in neighbours)
    claims = [
        Claim(
            "leak.first_out",
            "the leak is the first-out of the leaking rack (1 = SIF-1)",
            float(act["first_out"] == "SIF-1"),
            ">=",
            1.0,
            "-",
        ),
        Claim(
            "leak.proven_shut",
            "leak bit set → both valves proven shut",
            act["demand_to_proven_shut_s"] or never,
            "<=",
            PROVEN_SHUT_S,
            "s",
        ),
        Claim("leak.spilled", "coolant lost within 60 s of the hole", act["spilled_l"], "<=", SPILLED_L, "L"),
        Claim(
            "neighbours.prediction",
            "settled flow of every neighbour against the plant's steady solution",
            off,
            "<=",
            OFF_PREDICTION_PCT,
            "%-points",
        ),
        Claim(
            "neighbours.trips", "trips of neighbours", float(sum(one["trips"] for one in neighbours)), "<=", 0.0, "-"
        ),
        Claim(
            "neighbours.alarms",
            f"alarms of neighbours{not_counted(stage.options.speed)}",
            float(sum(one["alarms"] for one in neighbours)),
            "<=",
            0.0,
            "-",
        ),
    ]
    if stage.options.speed == 1.0:
        claims.insert(
            1,
            Claim(
                "leak.write_latency",
                "leak bit set → closing write received, hold subtracted",
                act["demand_to_write_ms"] or never,
                "<=",
                WRITE_LATENCY_MS,
                "ms",
            ),
        )
    if stage.options.mode == "constant_dp":
        worst = max(abs(one["settled_deviation_pct"]) for one in neighbours)
        claims.append(
            Claim(
                "neighbours.deviation",
                "settled flow of every neighbour against what it asks for",
                worst,
                "<=",
                NEIGHBOUR_PCT,
                "%",
            )
        )
    return claims


def _plots(samples: Samples, t_s: list[float]) -> list[Plot]:
    colours = dict(zip(sorted(samples.racks), COLOURS, strict=False))
    flows = [
        Line(f"{name} (leaks)" if name == RACK else name, samples.flow(name), colour)
        for name, colour in colours.items()
    ]
    change = [
        Line(name, [100.0 * (one - 1.0) for one in samples.wish(name)], colour)
        for name, colour in colours.items()
        if name != RACK
    ]
    title = f"SIMULATED: a 3 mm hole in the manifold of {RACK}; its supply flow stops, its neighbours' goes on"
    spilled = [Line("spilled", samples.racks[RACK]["spilled_l"], colours[RACK])]
    return [
        Plot(title, "L/min", t_s, flows),
        Plot("the same neighbours, flow against what they ask for", "%", t_s, change),
        Plot(f"coolant lost by {RACK}", "L", t_s, spilled),
    ]


def _neighbour_rows(neighbours: list[dict[str, Any]]) -> Rows:
    head = ("neighbour", "kW", "flow before L/min", "worst %", "settled %", "predicted %", "trips", "alarms")
    rows = [
        (one["rack"], f"{one['power_kw']:.0f}", f"{one['flow_before_lpm']:.1f}", f"{one['worst_deviation_pct']:+.2f}",
         f"{one['settled_deviation_pct']:+.2f}", f"{one['predicted_pct']:+.2f}", str(one["trips"]), str(one["alarms"]))
        for one in neighbours
    ]  # fmt: skip
    return Rows(f"while {RACK} was isolated", head, rows)


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 3)

"""Act 1: all racks at full load; a 3 mm hole opens in the manifold of r02."""

import asyncio
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bench.demo.claims import (
    NEIGHBOUR_PCT,
    OFF_PREDICTION_PCT,
    PROVEN_SHUT_S,
    SPILLED_L,
    WRITE_LATENCY_MS,
    Claim,
)
from bench.demo.listener import Listener
from bench.demo.stage import Stage

RACK = "r02"
HOLE_MM = 3.0
HOLD_S = 0.5
PANEL_DELAY_S = 5.0
LOAD_S = 10.0
AFTER_HOLE_S = 60.0
SETTLED_S = 8.0

Say = Callable[[str], None]


@dataclass
class Trace:
    """True values over time, sampled from the plant, for the plots: seconds since the hole."""

    t_s: list[float] = field(default_factory=list)
    flow_lpm: dict[str, list[float]] = field(default_factory=dict)
    pressure_kpa: dict[str, list[float]] = field(default_factory=dict)
    spilled_l: list[float] = field(default_factory=list)

    def add(self, t_s: float, snapshot: dict[str, Any]) -> None:
        self.t_s.append(round(t_s, 3))
        for name, rack in snapshot["racks"].items():
            self.flow_lpm.setdefault(name, []).append(rack["true"]["flow_supply_lpm"])
            self.pressure_kpa.setdefault(name, []).append(rack["true"]["p_supply_kpa"])
        self.spilled_l.append(snapshot["racks"][RACK]["true"]["spilled_l"])


@dataclass
class Outcome:
    """The act as it went: its part of report.json, its claims, its trace."""

    act: dict[str, Any]
    claims: list[Claim]
    trace: Trace
    timeline: list[tuple[float, str]]


async def play(stage: Stage, bus: Listener, say: Say) -> Outcome:
    """Play the act. Simulated seconds are divided by the stage's speed."""
    speed = stage.options.speed
    say("loading the racks to " + ", ".join(f"{rack.name} {rack.rated_kw:.0f} kW" for rack in stage.racks))
    for rack in stage.racks:
        stage.ask("load", rack=rack.name, kw=rack.rated_kw)
    await asyncio.sleep(LOAD_S / speed)

    before = await _mean_flows(stage, 20, 0.1 / speed)
    trips = {name: len(news.facts("trip")) for name, news in bus.racks.items()}
    alarms = {name: len(news.raised) for name, news in bus.racks.items()}
    since = stage.ask("stamps", limit=1)["last_seq"]
    start = stage.ask("snapshot")
    spilled_before_l = start["racks"][RACK]["true"]["spilled_l"]
    say(f"a {HOLE_MM:g} mm hole opens in the manifold of {RACK}")
    stage.ask("fault_add", kind="leak", rack=RACK, place="manifold", value=HOLE_MM)

    trace = Trace()
    while True:
        snapshot = stage.ask("snapshot")
        t_s = snapshot["t_s"] - start["t_s"]
        trace.add(t_s, snapshot)
        if t_s >= AFTER_HOLE_S:
            break
        await asyncio.sleep(0.2 / speed)
    predicted = stage.ask("steady", shut=[RACK])["flows_lpm"]
    stamps = stage.ask("stamps", since=since, rack=RACK)["stamps"]
    times = _times(stamps)
    spilled_l = trace.spilled_l[-1] - spilled_before_l

    neighbours = []
    for rack in stage.racks:
        if rack.name == RACK:
            continue
        flows, base = trace.flow_lpm[rack.name], before[rack.name]
        deviations: list[float] = [100.0 * (flow / base - 1.0) for flow in flows]
        settled = statistics.fmean(
            d for d, t in zip(deviations, trace.t_s, strict=True) if t >= AFTER_HOLE_S - SETTLED_S
        )
        news = bus.racks[rack.name]
        neighbours.append({
            "rack": rack.name,
            "power_kw": rack.rated_kw,
            "flow_before_lpm": round(base, 2),
            "worst_deviation_pct": round(_worst(deviations), 3),
            "settled_deviation_pct": round(settled, 3),
            "predicted_pct": round(100.0 * (predicted[rack.name] / base - 1.0), 3),
            "trips": len(news.facts("trip")) - trips[rack.name],
            "alarms": len(news.raised) - alarms[rack.name],
        })
    latches = bus.racks[RACK].state.get("latches", [])
    act = {
        "id": "leak", "speed": speed, "ok": False, "rack": RACK, "hole_mm": HOLE_MM,
        "first_out": latches[0]["sif"] if latches else None, "scan_s": 0.02, "hold_s": HOLD_S, "panel_delay_s": PANEL_DELAY_S,
        "demand_to_write_ms": _round(times.write_ms), "demand_to_proven_shut_s": _round(times.shut_s), "spilled_l": round(spilled_l, 2),
        "neighbours": neighbours,
    }  # fmt: skip
    claims = _claims(stage, act)
    act["ok"] = all(claim.ok for claim in claims)
    return Outcome(act, claims, trace, times.timeline)


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


def _times(stamps: list[dict[str, Any]]) -> Times:
    first: dict[str, float] = {}
    for stamp in stamps:
        text = _STORY.get((stamp["kind"], stamp["what"], float(stamp["value"])))
        if text is not None:
            first.setdefault(text, stamp["mono_ns"] / 1e9)
    demand_s = first.get("the leak panel sets LDT-101")
    if demand_s is None:
        return Times(None, None, [])
    write_s = first.get("supply valve: shut received")
    both = [first.get(f"{name} valve proven shut") for name in ("supply", "return")]
    shut_s = None if None in both else max(s for s in both if s is not None) - demand_s
    timeline = sorted((at_s - demand_s, text) for text, at_s in first.items())
    return Times(None if write_s is None else (write_s - demand_s - HOLD_S) * 1000.0, shut_s, timeline)


async def _mean_flows(stage: Stage, samples: int, every_s: float) -> dict[str, float]:
    flows: dict[str, list[float]] = {rack.name: [] for rack in stage.racks}
    for _ in range(samples):
        for name, rack in stage.ask("snapshot")["racks"].items():
            flows[name].append(rack["true"]["flow_supply_lpm"])
        await asyncio.sleep(every_s)
    return {name: statistics.fmean(values) for name, values in flows.items()}


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
            "leak.write_latency",
            "leak bit set → closing write received, hold subtracted",
            act["demand_to_write_ms"] or never,
            "<=",
            WRITE_LATENCY_MS,
            "ms",
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
            "neighbours.alarms", "alarms of neighbours", float(sum(one["alarms"] for one in neighbours)), "<=", 0.0, "-"
        ),
    ]
    if stage.options.mode == "constant_dp":
        worst = max(abs(one["settled_deviation_pct"]) for one in neighbours)
        claims.append(
            Claim(
                "neighbours.deviation",
                "settled flow of every neighbour against before",
                worst,
                "<=",
                NEIGHBOUR_PCT,
                "%",
            )
        )
    return claims


def _worst(deviations: list[float]) -> float:
    high, low = max(deviations), min(deviations)
    return high if high >= -low else low


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 3)

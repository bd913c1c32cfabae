"""Any number of racks on one CDU: a direct-return header ladder, solved as one unknown.

    pump ── kv_cdu ──┬── segment 1 ──┬── segment 2 ──┬── …
                     │              rack 1          rack 2
    suction ─────────┴── segment 1 ──┴── segment 2 ──┴── …

Given the pressure difference at the far end, everything nearer follows by walking back to the CDU; pump head, header difference and
total flow all rise with it. So the network is one monotone equation, whatever is shut. Flows in m³/h, pressures in bar; the return
header at the CDU stands at ``static_bar`` (gauge), held there by make-up or a gas vessel.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from firmware_sim.physics import pump
from firmware_sim.physics.branch import HALF, Branch, branch_flow_m3h, inner_pressures_bar, resistance


class NetworkError(ValueError):
    """A question that has no answer, such as a constant flow with every path shut."""


@dataclass(frozen=True, slots=True)
class Loop:
    """The hydraulic circuit at one moment.

    branches       racks in the order of the header, nearest first
    kv_segments    header segment before each rack (supply and return alike); ``inf`` for none, 0 for a blocked header
    kv_cdu         everything inside the CDU between pump and header
    sg             density / 1000 kg/m³
    static_bar     gauge pressure of the return header at the CDU
    leak_header    opening of the supply header at the CDU, m³/h per √bar
    leak_cdu       opening at the pump's suction
    """

    branches: tuple[Branch, ...]
    kv_segments: tuple[float, ...]
    kv_cdu: float
    sg: float
    static_bar: float = 0.0
    leak_header: float = 0.0
    leak_cdu: float = 0.0


@dataclass(frozen=True, slots=True)
class FixedSpeed:
    """Pumps at given speeds (0..1)."""

    speeds: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ConstantDp:
    """Pumps hold a header pressure difference at node ``node`` (0 = the CDU, n = rack n), limited by ``max_speed``."""

    dp_bar: float
    node: int = 0
    max_speed: float = math.inf
    count: int = 1


@dataclass(frozen=True, slots=True)
class ConstantFlow:
    """Pumps hold the total flow, limited by ``max_speed``."""

    flow_m3h: float
    max_speed: float = math.inf
    count: int = 1


Drive = FixedSpeed | ConstantDp | ConstantFlow


@dataclass(frozen=True, slots=True)
class Curve:
    """One pump: ``dp = s²·dp0_bar − a·Q²``."""

    dp0_bar: float
    a: float


@dataclass(slots=True)
class Solution:
    """What the network does. Lists are by rack, ``node_dp`` and pressures by node with the CDU first.

    inner    gauge pressures (inlet, tray, outlet) of each rack; NaN where it is cut off
    lost     flows out of each rack's openings, m³/h
    speed    pump speed that does it (of the fastest pump in fixed speed)
    far_dp   the unknown, to start the next solution from
    """

    flow_in: list[float]
    flow_out: list[float]
    node_dp: list[float]
    supply_bar: list[float]
    return_bar: list[float]
    inner: list[tuple[float, float, float]]
    lost: list[tuple[float, float, float]]
    total_m3h: float
    pump_dp_bar: float
    speed: float
    leak_header_m3h: float
    leak_cdu_m3h: float
    far_dp: float

    @property
    def leaked_m3h(self) -> float:
        """All that leaves the circuit through openings: the make-up flow that holds the static pressure."""
        return sum(map(sum, self.lost)) + self.leak_header_m3h + self.leak_cdu_m3h


class _Ladder:
    """The circuit prepared for walking: resistances worked out, flows out of openings held as numbers."""

    __slots__ = ("cdu_r", "header_leak", "leaky", "loop", "lost", "nodes", "parts", "roots", "segments")

    def __init__(self, loop: Loop, lost: Sequence[tuple[float, float, float]], header_leak: float) -> None:
        sg = loop.sg
        self.loop = loop
        self.lost = list(lost)
        self.header_leak = header_leak
        self.cdu_r = resistance(loop.kv_cdu, sg)
        self.segments = [resistance(kv, sg) for kv in loop.kv_segments]
        self.nodes = len(loop.branches)  # racks beyond a blocked segment are cut off
        for i, r in enumerate(self.segments):
            if math.isinf(r):
                self.nodes = i
                break
        if math.isinf(self.cdu_r):
            self.nodes = 0
        self.parts: list[tuple[float, float, float, float]] = []
        self.roots: list[float] = []  # K/√SG of the whole branch: its flow at 1 bar
        self.leaky: list[bool] = []
        for branch in loop.branches:
            half = resistance(branch.kv_rack * HALF, sg)
            parts = (resistance(branch.kv_in, sg), half, half, resistance(branch.kv_out, sg))
            whole = sum(parts)
            self.parts.append(parts)
            self.roots.append(0.0 if math.isinf(whole) else 1.0 / math.sqrt(whole))
            self.leaky.append(any(branch.leaks))

    def rack_flows(self, i: int, dp: float) -> tuple[float, float]:
        """Flow into and out of rack ``i`` at a header difference of ``dp`` bar."""
        root = self.roots[i]
        if not self.leaky[i]:
            flow = root * math.sqrt(dp) if dp >= 0.0 else -root * math.sqrt(-dp)
            return flow, flow
        lost = self.lost[i]
        if root > 0.0:
            flow = branch_flow_m3h(dp, self.parts[i], lost)
            return flow, flow - sum(lost)
        return self.blocked_flows(i)

    def blocked_flows(self, i: int) -> tuple[float, float]:
        """Flows of a rack shut somewhere: what its openings lose comes from the side they are still joined to."""
        branch, (a, b, c) = self.loop.branches[i], self.lost[i]
        if branch.kv_rack > 0.0:
            return (a + b + c, 0.0) if branch.kv_in > 0.0 else (0.0, -(a + b + c))
        return (a if branch.kv_in > 0.0 else 0.0), (-c if branch.kv_out > 0.0 else 0.0)

    def walk(self, far_dp: float, node: int = 0) -> tuple[float, float]:
        """Supply flow and header difference at ``node`` (0 = the CDU) when the far end stands at ``far_dp``."""
        dp, supply, back = far_dp, 0.0, 0.0
        branches = self.loop.branches
        for i in range(self.nodes - 1, node - 1, -1):
            flow_in, flow_out = self.rack_flows(i, dp)
            branch = branches[i]
            supply += flow_in + branch.draw_supply
            back += flow_out - branch.draw_return
            dp += self.segments[i] * (supply * abs(supply) + back * abs(back))
        return supply + self.header_leak, dp

    def head(self, far_dp: float) -> tuple[float, float]:
        """Total flow and the head the pumps must give, bar."""
        flow, dp = self.walk(far_dp)
        return flow, dp + self.cdu_r * flow * abs(flow)

    def gauge(self, far_dp: float, drive: Drive, curve: Curve) -> float:
        """The quantity that must meet `target`: rises with ``far_dp``, and without openings as its multiple."""
        match drive:
            case FixedSpeed(speeds):
                flow, head = self.head(far_dp)
                return head - pump.bank_dp_bar(flow, speeds, curve.dp0_bar, curve.a) + target(drive, curve)
            case ConstantDp():
                return self.walk(far_dp, min(drive.node, self.nodes))[1]
            case ConstantFlow():
                flow, _ = self.walk(far_dp)
                return flow * abs(flow)

    def result(self, far_dp: float, drive: Drive, curve: Curve) -> Solution:
        """Walk outwards from the CDU and note everything."""
        loop, count = self.loop, len(self.loop.branches)
        flow_in, flow_out, node_dp = [0.0] * count, [0.0] * count, [far_dp] * (count + 1)
        supply, back, dp = 0.0, 0.0, far_dp
        rises: list[float] = [0.0] * count
        for i in range(self.nodes - 1, -1, -1):
            node_dp[i + 1] = dp
            flow_in[i], flow_out[i] = self.rack_flows(i, dp)
            supply += flow_in[i] + loop.branches[i].draw_supply
            back += flow_out[i] - loop.branches[i].draw_return
            rises[i] = self.segments[i] * back * abs(back)
            dp += self.segments[i] * supply * abs(supply) + rises[i]
        node_dp[0] = dp
        total = supply + self.header_leak
        return_bar = [loop.static_bar]
        for rise in rises:
            return_bar.append(return_bar[-1] + rise)
        for i in range(self.nodes + 1, count + 1):  # cut off by a blocked header: equalised through their own racks
            node_dp[i] = 0.0
        supply_bar = [r + d for r, d in zip(return_bar, node_dp, strict=True)]
        inner = [
            inner_pressures_bar(b, loop.sg, supply_bar[i + 1], return_bar[i + 1], flow_in[i], self.lost[i])
            for i, b in enumerate(loop.branches)
        ]
        head = dp + self.cdu_r * total * abs(total)
        if isinstance(drive, FixedSpeed):
            speed = max(drive.speeds)
        else:
            speed = pump.speed_for_head(head, total, curve.dp0_bar, curve.a, drive.count)
        leak_cdu = loop.leak_cdu * math.sqrt(max(loop.static_bar, 0.0))
        return Solution(
            flow_in,
            flow_out,
            node_dp,
            supply_bar,
            return_bar,
            inner,
            list(self.lost),
            total,
            head,
            speed,
            self.header_leak,
            leak_cdu,
            far_dp,
        )


def target(drive: Drive, curve: Curve) -> float:
    """What `_Ladder.gauge` must reach: dead head, header difference or flow squared."""
    match drive:
        case FixedSpeed(speeds):
            return pump.pump_dp_bar(0.0, max(speeds), curve.dp0_bar, curve.a)
        case ConstantDp():
            return drive.dp_bar
        case ConstantFlow():
            return drive.flow_m3h**2


def _far_dp(ladder: _Ladder, drive: Drive, curve: Curve, start: float) -> float:
    """Solve the ladder: secant on the square root of `gauge`, which is nearly a line, kept inside a bracket once there is one."""
    goal = target(drive, curve)
    root_goal = math.copysign(math.sqrt(abs(goal)), goal)
    low, high = -math.inf, math.inf

    def miss(y: float) -> float:
        value = ladder.gauge(y * abs(y), drive, curve)
        return math.copysign(math.sqrt(abs(value)), value) - root_goal

    close = 1e-10 * (abs(root_goal) + 1e-3)
    y = math.copysign(math.sqrt(abs(start)), start)
    m = miss(y)
    last_y, last_m = y, m
    for i in range(200):
        if abs(m) <= close or high - low <= 1e-13 * (1.0 + abs(y)):
            return y * abs(y)
        if m < 0.0:
            low = y
        else:
            high = y
        if i == 0:
            reached = m + root_goal
            guess = y * root_goal / reached if reached > 0.0 and y > 0.0 else y - m
        elif m != last_m:
            guess = y - m * (y - last_y) / (m - last_m)
        else:
            guess = math.nan
        if not low < guess < high or i % 8 == 7:
            guess = _between(low, high, y)
        last_y, last_m = y, m
        y = guess
        m = miss(y)
    raise NetworkError(f"no flow meets {drive}: is every path shut?")


def _between(low: float, high: float, y: float) -> float:
    if math.isinf(high):
        return 2.0 * abs(y) + 1.0
    if math.isinf(low):
        return -2.0 * abs(y) - 1.0
    return 0.5 * (low + high)


def _openings(loop: Loop, solution: Solution) -> tuple[list[tuple[float, float, float]], float]:
    """What the openings lose at the pressures just found."""
    lost: list[tuple[float, float, float]] = []
    for branch, inner in zip(loop.branches, solution.inner, strict=True):
        a, b, c = (k * math.sqrt(p) if k > 0.0 and p > 0.0 else 0.0 for k, p in zip(branch.leaks, inner, strict=True))
        lost.append((a, b, c))
    return lost, loop.leak_header * math.sqrt(max(solution.supply_bar[0], 0.0))


def _towards(
    old: tuple[float, float, float], new: tuple[float, float, float], weight: float
) -> tuple[float, float, float]:
    return old[0] + weight * (new[0] - old[0]), old[1] + weight * (new[1] - old[1]), old[2] + weight * (new[2] - old[2])


def solve(loop: Loop, drive: Drive, curve: Curve, start: Solution | None = None, rounds: int = 100) -> Solution:
    """Solve the network.

    start    an earlier solution of a similar circuit: saves most of the work
    rounds   openings lose more at a higher pressure, and lower it: at most so many rounds of that (each holds their flow fixed). One is
             enough for a stepped plant that passes its last solution on; the default settles to 1e-9

    Raises NetworkError where nothing meets a constant flow, and ValueError for a loop whose lists do not match.
    """
    if len(loop.kv_segments) != len(loop.branches):
        raise ValueError(f"{len(loop.branches)} racks need as many header segments, not {len(loop.kv_segments)}")
    if not isinstance(drive, FixedSpeed):
        if not math.isinf(drive.max_speed):
            full = solve(loop, FixedSpeed((drive.max_speed,) * drive.count), curve, start, rounds)
            reached = (
                full.total_m3h if isinstance(drive, ConstantFlow) else full.node_dp[min(drive.node, len(loop.branches))]
            )
            if reached <= (drive.flow_m3h if isinstance(drive, ConstantFlow) else drive.dp_bar):
                return full
        elif isinstance(drive, ConstantFlow) and drive.flow_m3h > 0.0 and loop.kv_cdu <= 0.0:
            raise NetworkError("no flow through a shut CDU")
    shape_fits = start is not None and len(start.flow_in) == len(loop.branches)
    lost = start.lost if start is not None and shape_fits else [(0.0, 0.0, 0.0)] * len(loop.branches)
    header_leak = start.leak_header_m3h if start is not None else 0.0
    leaky = loop.leak_header > 0.0 or any(any(b.leaks) for b in loop.branches)
    if not leaky:
        lost, header_leak = [(0.0, 0.0, 0.0)] * len(loop.branches), 0.0
    far_dp = start.far_dp if start is not None and start.far_dp > 0.0 else max(target(drive, curve), 0.0)
    weight, last_gap = 1.0, math.inf
    while True:
        ladder = _Ladder(loop, lost, header_leak)
        if math.isinf(ladder.cdu_r):
            ladder.cdu_r, ladder.header_leak, far_dp = 0.0, 0.0, 0.0
        else:
            far_dp = _far_dp(ladder, drive, curve, far_dp)
        solution = ladder.result(far_dp, drive, curve)
        rounds -= 1
        if not leaky:
            return solution
        new_lost, new_header = _openings(loop, solution)
        gap = max(
            abs(new_header - header_leak),
            *(abs(n - o) for ns, os in zip(new_lost, lost, strict=True) for n, o in zip(ns, os, strict=True)),
        )
        if rounds <= 0 or gap <= 1e-9:
            return solution
        if gap > 0.7 * last_gap:
            weight = max(0.5 * weight, 0.05)
        last_gap = gap
        lost = [_towards(o, n, weight) for n, o in zip(new_lost, lost, strict=True)]
        header_leak += weight * (new_header - header_leak)

"""Any number of racks on one CDU: a direct-return header ladder, solved as one unknown.

    pump ── kv_cdu ──┬── segment 1 ──┬── segment 2 ──┬── …
                     │              rack 1          rack 2
    suction ─────────┴── segment 1 ──┴── segment 2 ──┴── …

Given the pressure difference at the far end, everything nearer follows by walking back to the CDU; pump head, header difference and
total flow all rise with it. So the network is one monotone equation, whatever is shut. What openings lose depends on absolute
pressures, which the return header shifts a little: a few rounds settle that. Flows in m³/h, pressures in bar; the return
header at the CDU stands at ``static_bar`` (gauge), held there by make-up or a gas vessel.
"""

import math
from dataclasses import replace

from firmware_sim.physics import pump
from firmware_sim.physics.branch import HALF, LEAST_KV, RackFlow, rack_flow, resistance
from firmware_sim.physics.circuit import (
    ConstantDp,
    ConstantFlow,
    Curve,
    Drive,
    FixedSpeed,
    Loop,
    NetworkError,
    Solution,
)

__all__ = [
    "ConstantDp",
    "ConstantFlow",
    "Curve",
    "Drive",
    "FixedSpeed",
    "Loop",
    "NetworkError",
    "Solution",
    "solve",
    "target",
]


class _Ladder:
    """The circuit prepared for walking: resistances worked out, the return header's pressures held as numbers."""

    __slots__ = ("cdu_r", "guesses", "leaky", "loop", "nodes", "return_bar", "roots", "segments")

    def __init__(self, loop: Loop, return_bar: list[float]) -> None:
        sg = loop.sg
        self.loop = loop
        self.return_bar = return_bar
        self.cdu_r = resistance(loop.kv_cdu, sg)
        self.segments = [resistance(kv, sg) for kv in loop.kv_segments]
        self.nodes = len(loop.branches)  # racks beyond a blocked segment are cut off
        for i, r in enumerate(self.segments):
            if math.isinf(r):
                self.nodes = i
                break
        self.leaky = [any(branch.leaks) for branch in loop.branches]
        self.guesses = [0.0] * len(loop.branches)
        self.roots: list[float] = []  # flow of each whole branch at 1 bar
        for branch in loop.branches:
            half = resistance(max(branch.kv_rack, LEAST_KV) * HALF, sg)
            whole = resistance(branch.kv_in, sg) + 2.0 * half + resistance(branch.kv_out, sg)
            self.roots.append(0.0 if math.isinf(whole) else 1.0 / math.sqrt(whole))

    def rack_flows(self, i: int, dp: float) -> tuple[float, float]:
        """Flow into and out of rack ``i`` at a header difference of ``dp`` bar."""
        if not self.leaky[i]:
            root = self.roots[i]
            flow = root * math.sqrt(dp) if dp >= 0.0 else -root * math.sqrt(-dp)
            return flow, flow
        found = self.rack(i, dp)
        branch = self.loop.branches[i]
        self.guesses[i] = found.flow_in if branch.kv_in > 0.0 else found.flow_out
        return found.flow_in, found.flow_out

    def rack(self, i: int, dp: float) -> RackFlow:
        """All of rack ``i`` at a header difference of ``dp`` bar."""
        back = self.return_bar[i + 1]
        return rack_flow(self.loop.branches[i], self.loop.sg, back + dp, back, self.guesses[i])

    def header_leak(self, dp: float) -> float:
        """Flow out of the supply header's opening at the CDU."""
        gauge = self.loop.static_bar + dp
        return self.loop.leak_header * math.sqrt(gauge) if gauge > 0.0 and self.loop.leak_header > 0.0 else 0.0

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
        return (supply + self.header_leak(dp) if node == 0 else supply), dp

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
        """Walk once more and note everything."""
        loop, count = self.loop, len(self.loop.branches)
        shut = RackFlow(0.0, 0.0, (math.nan, math.nan, math.nan), (0.0, 0.0, 0.0))
        racks, node_dp, rises = [shut] * count, [0.0] * (count + 1), [0.0] * count
        supply, back, dp = 0.0, 0.0, far_dp
        for i in range(self.nodes - 1, -1, -1):
            node_dp[i + 1] = dp
            racks[i] = self.rack(i, dp)
            supply += racks[i].flow_in + loop.branches[i].draw_supply
            back += racks[i].flow_out - loop.branches[i].draw_return
            rises[i] = self.segments[i] * back * abs(back)
            dp += self.segments[i] * supply * abs(supply) + rises[i]
        node_dp[0] = dp
        leak_header = self.header_leak(dp)
        total = supply + leak_header
        return_bar = [loop.static_bar]
        for rise in rises:
            return_bar.append(return_bar[-1] + rise)
        head = dp + self.cdu_r * total * abs(total)
        if isinstance(drive, FixedSpeed):
            speed = max(drive.speeds)
        else:
            speed = pump.speed_for_head(head, total, curve.dp0_bar, curve.a, drive.count)
        return Solution(
            flow_in=[rack.flow_in for rack in racks],
            flow_out=[rack.flow_out for rack in racks],
            node_dp=node_dp,
            supply_bar=[r + d for r, d in zip(return_bar, node_dp, strict=True)],
            return_bar=return_bar,
            inner=[
                # Solved at the pressures the return header was thought to have: moved to those it has.
                (rack.inner[0] + shift, rack.inner[1] + shift, rack.inner[2] + shift)
                for rack, shift in zip(
                    racks, (n - o for n, o in zip(return_bar[1:], self.return_bar[1:], strict=True)), strict=True
                )
            ],
            lost=[rack.lost for rack in racks],
            total_m3h=total,
            pump_dp_bar=head,
            speed=speed,
            leak_header_m3h=leak_header,
            leak_cdu_m3h=loop.leak_cdu * math.sqrt(max(loop.static_bar, 0.0)),
            far_dp=far_dp,
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


def solve(loop: Loop, drive: Drive, curve: Curve, start: Solution | None = None, rounds: int = 20) -> Solution:
    """Solve the network.

    start    an earlier solution of a similar circuit: saves most of the work
    rounds   at most so many corrections of the return header's pressures, which only openings feel; the default settles to 1e-9 bar

    Raises NetworkError where nothing meets a constant flow, and ValueError for a loop whose lists do not match.
    """
    count = len(loop.branches)
    if len(loop.kv_segments) != count:
        raise ValueError(f"{count} racks need as many header segments, not {len(loop.kv_segments)}")
    if not isinstance(drive, FixedSpeed) and not math.isinf(drive.max_speed):
        full = solve(loop, FixedSpeed((drive.max_speed,) * drive.count), curve, start, rounds)
        wanted = drive.flow_m3h if isinstance(drive, ConstantFlow) else drive.dp_bar
        reached = full.total_m3h if isinstance(drive, ConstantFlow) else full.node_dp[min(drive.node, count)]
        if reached <= wanted:
            return full
    if loop.kv_cdu <= 0.0:
        return _cut_off(loop, drive, curve)
    fits = start is not None and len(start.return_bar) == count + 1
    return_bar = start.return_bar if start is not None and fits else [loop.static_bar] * (count + 1)
    far_dp = start.far_dp if start is not None and start.far_dp > 0.0 else max(target(drive, curve), 0.0)
    ladder = _Ladder(loop, return_bar)
    while True:
        far_dp = _far_dp(ladder, drive, curve, far_dp)
        solution = ladder.result(far_dp, drive, curve)
        rounds -= 1
        moved = max(abs(new - old) for new, old in zip(solution.return_bar, ladder.return_bar, strict=True))
        if rounds <= 0 or moved <= 1e-9 or not any(ladder.leaky):
            return solution
        ladder.return_bar = solution.return_bar


def _cut_off(loop: Loop, drive: Drive, curve: Curve) -> Solution:
    """Nothing passes the CDU: the racks lie still at the static pressure, the pumps against their dead head."""
    if isinstance(drive, ConstantFlow) and drive.flow_m3h > 0.0:
        raise NetworkError("no flow through a shut CDU")
    still = replace(
        loop,
        kv_cdu=math.inf,
        leak_header=0.0,
        branches=tuple(replace(b, leak_in=0.0, leak_mid=0.0, leak_out=0.0) for b in loop.branches),
    )
    return _Ladder(still, [loop.static_bar] * (len(loop.branches) + 1)).result(0.0, FixedSpeed((0.0,)), curve)

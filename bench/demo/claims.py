"""What the demo claims, and the limits of it: the only place where they stand."""

from dataclasses import asdict, dataclass
from typing import Any

#: Second start-up, everything installed: from the first process to every rack in service.
STARTUP_S = 3.0
#: Leak bit set in the panel → closing write received by the valve controller, hold subtracted: two fast scans + 5 ms.
FAST_SCAN_S = 0.02
WRITE_LATENCY_MS = 2 * FAST_SCAN_S * 1000.0 + 5.0
#: Leak bit set → both shut limits made: hold 0.5 s, supply stroke, return stroke, and a second for the rest.
PROVEN_SHUT_S = 0.5 + 3.5 + 3.5 + 1.0
#: A neighbour's settled flow against the plant's own steady solution for this network, in points of percent.
OFF_PREDICTION_PCT = 1.0
#: In constant dP with a header of Kv ≥ 300 no neighbour's settled flow moves further than this.
NEIGHBOUR_PCT = 2.0
DURATION_S = 90.0
SPILLED_L = 5.0
"""3 mm at some 200 kPa lose 5.4..6.6 L/min: 5 s of panel delay, 0.5 s of hold, two strokes, then what the pressure left drives out."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One measured figure against its limit."""

    id: str
    text: str
    measured: float
    op: str
    limit: float
    unit: str

    @property
    def ok(self) -> bool:
        return self.measured <= self.limit if self.op == "<=" else self.measured >= self.limit

    def document(self) -> dict[str, Any]:
        return {**asdict(self), "measured": round(self.measured, 3), "ok": self.ok}

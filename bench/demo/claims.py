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

#: A planned service moves no neighbour's flow, as a mean over 10 s, further than this in any CDU mode.
SERVICE_NEIGHBOUR_PCT = 2.0
#: Back in service: its flow against that before.
RESUMED_PCT = 95.0
#: Isolation, drain, fill and return to service each need the coordinator's grant.
SERVICE_GRANTS = 4
#: A drain leaves at most what hoses and plates keep; a fill leaves no air to speak of.
SERVICE_VOLUME_PCT = 95.0
FILLED_SHARE = 99.0
#: PSV-101's setting: no work on a rack may bring it there.
SERVICE_SHUT_KPA = 600.0

#: A pump trips: every rack has been told what it may take.
SHARED_WITHIN_S = 10.0
#: Settled flow above what a rack may take: the flow control's dead bands.
ABOVE_CEILING_PCT = 3.0
#: Share of its need by which a rack may stand behind one of lower priority: dead bands again.
UNFAIR_PCT = 2.0
#: SIF-4's LL, of what the load needs.
LL_PCT = 25.0
#: Power is capped from here; the trip is at 65.
RETURN_C = 60.0
#: The pump is back: every rack has what it asks for.
RECOVERED_PCT = 95.0

#: A newcomer is filled, tested, opened wide and burnt in: no neighbour's flow, as a mean over 10 s, is further from what it asks for. By itself it
#: may stand 2 % away while what a rack asks for creeps: FCV-101 is not moved by less than its command band.
ADMIT_NEIGHBOUR_PCT = 3.0
ADMIT_TRIPS = 0.0
#: Admitted: its first job gets the power it asks for.
ADMITTED_POWER_PCT = 98.0


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

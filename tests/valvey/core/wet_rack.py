"""A paper rack whose flow follows FCV-101: motor, header, rack and heat by the plainest formulas, without noise or lag."""

from dataclasses import dataclass, field, replace
from typing import Any

from tests.plant import PaperRack, flowing, starting
from valvey.core.flow_model import flow_lpm, in_series, valve_kv
from valvey.core.flow_state import Steering, Tuning, tuning_for
from valvey.core.view import KW_PER_LPM_K


@dataclass
class WetRack(PaperRack):
    """``header_kpa`` between the headers, ``kv_true`` of all but FCV-101, ``stuck`` motor; ``wet`` False holds all readings."""

    header_kpa: float = 200.0
    kv_true: float = 12.5
    stuck: bool = False
    wet: bool = True
    lost: set[str] = field(default_factory=set)
    """Tags that cannot be believed, whatever the field does."""

    @property
    def tuning(self) -> Tuning:
        return tuning_for(self.limits)

    @property
    def steering(self) -> Steering:
        assert self.memory.steering is not None
        return self.memory.steering

    @property
    def flow(self) -> float:
        """What really flows, L/min."""
        value = self.values["FT-101"] if "FT-101" not in self.lost else self.values["FT-102"]
        return value or 0.0

    def _obey(self) -> None:
        position = self._at_pct if self.values["ZT-101"] is None else self.values["ZT-101"]
        super()._obey()
        wanted, most = self.writes.get("FCV-101", position), 100.0 / self.limits.fcv_stroke_s * self._dt_s
        self._at_pct = position if self.stuck else position + min(most, max(-most, wanted - position))
        self.values["ZT-101"] = self._at_pct
        if self.wet:
            self._flow()

    def _flow(self) -> None:
        open_ = bool(self.values["ZSO-101"] and self.values["ZSO-102"])
        kv = in_series(max(1e-6, valve_kv(self.values["ZT-101"] or 0.0, self.tuning)), self.kv_true)
        flow = flow_lpm(kv, self.header_kpa) if open_ else 0.0
        rack_kpa = self.header_kpa * (kv / self.limits.kv_rack) ** 2
        rise_k = (self.values["ET-101"] or 0.0) / KW_PER_LPM_K / flow if flow > 1.0 else 0.0
        hot = 40.0 + rise_k
        self.values |= {
            "FT-101": flow, "FT-102": flow, "PT-201": 150.0 + self.header_kpa, "PT-202": 150.0, "PT-101": 160.0 + rack_kpa,
            "PT-102": 160.0, "TT-102A": hot, "TT-102B": hot, "TT-102C": hot,
        }  # fmt: skip

    _dt_s: float = 0.05
    _at_pct: float = 0.0
    """Where FCV-101 stands while ZT-101 is lost."""

    def scan(self, *requests: Any, dt_s: float = 0.05) -> Any:
        self._dt_s = dt_s
        for tag in self.lost:
            self.values[tag] = None
        done = super().scan(*requests, dt_s=dt_s)
        for tag in self.lost:
            self.values[tag] = None
        return done

    def until_s(self, end_s: float, dt_s: float = 0.5) -> "WetRack":
        """Scan until ``end_s`` seconds from now."""
        end_s += self.now_s
        while self.now_s < end_s - 1e-6:
            self.scan(dt_s=dt_s)
        return self


def wet(rack: PaperRack, position_pct: float = 75.8, load_kw: float = 126.5, **changes: Any) -> WetRack:
    """``rack`` as one that is wet: FCV-101 stands at ``position_pct``, and nothing has had it yet."""
    made = WetRack(
        rack.limits, replace(rack.memory, fcv_pct=position_pct, steering=None), dict(rack.values), now_s=rack.now_s,
        ack_s=rack.ack_s, _moving=dict(rack._moving), **changes,
    )  # fmt: skip
    made.values |= {"ZT-101": position_pct, "JT-101": load_kw, "ET-101": load_kw}
    made._at_pct = position_pct
    made._flow()
    return made


def serving(position_pct: float = 75.8, load_kw: float = 126.5, **changes: Any) -> WetRack:
    """A rack in service, in which about its nominal flow runs."""
    return wet(flowing(), position_pct, load_kw, **changes)


def adopting(**changes: Any) -> WetRack:
    """A rack in service whose process has just started."""
    return wet(starting(), **changes)

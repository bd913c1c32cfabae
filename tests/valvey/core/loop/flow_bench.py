"""A loop whose racks control their flow, as they do in service: valves move, loads burst, and set-points follow the loads.

The control is the rack's own (``valvey.core.flow_control``), fed with what the rack's transmitters and the CDU show.
"""

from firmware_sim.load import SquareWave
from firmware_sim.plant_config import CduMode
from tests.valvey.core.loop.bench import STEP_S, LoopBench
from valvey.core.chart import State
from valvey.core.flow_control import begin, control
from valvey.core.flow_state import Control, Seen, Tuning
from valvey.core.loop.step import LoopScan

IN_SERVICE = (True, True, False, False, True)


class FlowBench(LoopBench):
    """``worst`` is judged as the 10 s mean of each rack's true flow against what it asks for at that moment, in %."""

    def __init__(self, racks: int = 4, mode: CduMode = CduMode.CONSTANT_FLOW, seed: int = 1, **changes: object) -> None:
        self.controls: dict[str, Control] = {}
        self.judged: frozenset[str] = frozenset()
        self._means: dict[str, list[float]] = {}
        super().__init__(racks, mode, seed, **changes)
        self.tunings = {
            rack.name: Tuning(rack.design_flow_lpm, kvs_m3_h=rack.fcv_kvs, kv_rest_m3_h=rack.kv_rack)
            for rack in self.bank.plant.config.racks
        }

    def burst(self, name: str, low_share: float, period_s: float) -> None:
        """A training job: the rack's rating, and ``low_share`` of it, half a period each."""
        kw = self.limits.racks[name].rating_kw
        self.bank.rigs[name].wave = SquareWave(kw, low_share * kw, period_s)

    def turn(self) -> LoopScan:
        scan = super().turn()
        for name in self.bank.rigs:
            self._steer(name)
        return scan

    def _steer(self, name: str) -> None:
        if self.seen[name].state is not State.FLOWING:
            self.controls.pop(name, None)
            return
        rig = self.bank.rigs[name]
        shown = {tag: channel.shown for tag, _, channel in rig.channels()}
        cdu = {tag: channel.shown for tag, channel in self.bank.cdu.channels.items()}
        seen = Seen(
            load_kw=shown["JT-101"],
            flow_lpm=shown["FT-101"],
            header_kpa=cdu["PT-201"] - cdu["PT-202"],
            rack_kpa=shown["PT-101"] - shown["PT-102"],
            position_pct=shown["ZT-101"],
            rise_k=shown["TT-102A"] - shown["TT-101"],
        )
        known = self.controls.get(name)
        if known is None:
            known = begin(100.0 * rig.plant.fcv.position, self.tunings[name], seen.flow_lpm)
        self.controls[name] = after = control(known, seen, self.tunings[name], STEP_S)
        self.drive(name, IN_SERVICE, after.command_pct)

    def tell(self) -> None:
        super().tell()
        for name, one in self.controls.items():
            self.put(name, points={**self.seen[name].points, "FY-101": one.demand.setpoint_lpm})

    def judge(self, *but: str) -> None:
        """Begin to compare the flow of all racks but these with what they ask for."""
        self.judged = frozenset(self.bank.rigs) - set(but)
        self.worst, self._means = {}, {name: [] for name in self.judged}

    def _watch(self) -> None:
        for name in self.judged & self.controls.keys():
            asked = self.controls[name].demand.setpoint_lpm
            window = self._means[name]
            window.append(100.0 * (self.bank.plant.racks[name].flow_supply_lpm / asked - 1.0))
            if len(window) < round(10.0 / STEP_S):
                continue
            mean = sum(window) / len(window)
            window.pop(0)
            if abs(mean) > abs(self.worst.get(name, 0.0)):
                self.worst[name] = mean

    def dp_kpa(self) -> float:
        cdu = self.bank.plant.cdu
        return cdu.p_supply_kpa - cdu.p_return_kpa

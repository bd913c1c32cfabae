"""The plant: racks, headers and CDU, stepped.

Pure: time is what `advance` is given. Actuators and power move in straight lines and exact exponentials at any step; network, heat
and liquid are solved on a grid of 0.1 s from the start, so that the same inputs at the same times give the same trace, however the
time between is cut.
"""

from firmware_sim.cdu_plant import CduPlant
from firmware_sim.header_heat import HeaderHeat
from firmware_sim.physics import coolant, network, valve
from firmware_sim.physics.branch import Branch
from firmware_sim.physics.noise import Noise
from firmware_sim.physics.pipe import M3H_TO_LPM
from firmware_sim.physics.thermal import dew_point_c
from firmware_sim.plant_config import PlantConfig, Start
from firmware_sim.rack_plant import RackPlant

TICK_S = 0.1
_TICK_US = 100_000


class Plant:
    """A CDU and its racks.

    Inputs set between two calls of `advance` act from the first on: coils and powers at once, flows at the next tick.
    ``noise(name)`` gives a seeded stream, for sensors built on the plant.

    Raises ValueError when a flowing rack cannot have its design flow.
    """

    def __init__(self, config: PlantConfig, seed: int = 1) -> None:
        self.config = config
        self.seed = seed
        self.cdu = CduPlant(config.cdu)
        supply_c = config.cdu.t_supply_set_c
        self.racks = {rack.name: RackPlant(rack, supply_c) for rack in config.racks}
        self.air_c = config.room.air_c
        self.humidity_pct = config.room.humidity_pct
        self._now_us = 0
        self._list = list(self.racks.values())
        self._kv_segments = (config.cdu.kv_segment,) * len(self._list)
        self._last: network.Solution | None = None
        self._settle()
        self._heat = HeaderHeat(config.cdu.segment_l, self._list, supply_c)
        self.cdu.settle(self._heat.mixed_return_c(self._list))

    @property
    def now_s(self) -> float:
        """Seconds since the start."""
        return self._now_us / 1e6

    @property
    def dew_point_c(self) -> float:
        """Dew point of the room."""
        return dew_point_c(self.air_c, self.humidity_pct)

    def noise(self, name: str) -> Noise:
        """A stream of noise of its own, fixed by the plant's seed and ``name``."""
        return Noise(self.seed, name)

    def advance(self, dt_s: float) -> None:
        """Let ``dt_s`` seconds pass (rounded to microseconds)."""
        left_us = round(dt_s * 1e6)
        if left_us < 0:
            raise ValueError(f"time runs forwards, not by {dt_s} s")
        while left_us > 0:
            slice_us = min(left_us, _TICK_US - self._now_us % _TICK_US)
            for rack in self._list:
                rack.move(slice_us / 1e6)
            self._now_us += slice_us
            left_us -= slice_us
            if self._now_us % _TICK_US == 0:
                self._tick()

    def steady_flows_lpm(self, shut: frozenset[str] = frozenset()) -> dict[str, float]:
        """Flow into each rack once the CDU has settled in its mode, with ``shut`` racks isolated and all else as it stands now.

        Raises KeyError for a rack that is not there.
        """
        for name in shut:
            if name not in self.racks:
                raise KeyError(f"no rack {name}: there are {', '.join(self.racks)}")
        density = coolant.density_kg_m3(self.cdu.t_supply_c)
        branches = [
            Branch(0.0, rack.config.kv_rack, 0.0) if name in shut else rack.branch(density)
            for name, rack in self.racks.items()
        ]
        solution = network.solve(self._loop(branches, density), self.cdu.steady_drive(), self.cdu.curve)
        flows = (q + b.draw_supply for q, b in zip(solution.flow_in, branches, strict=True))
        return dict(zip(self.racks, (q * M3H_TO_LPM for q in flows), strict=True))

    # -- one tick ------------------------------------------------------------------------------------------------------------------

    def _loop(self, branches: list[Branch], density: float) -> network.Loop:
        cdu = self.cdu
        header, own = cdu.opening("header", density), cdu.opening("cdu", density)
        return network.Loop(
            tuple(branches), self._kv_segments, cdu.kv_internal(), density / 1000.0, cdu.static_kpa / 100.0, header, own
        )

    def _tick(self) -> None:
        cdu, racks = self.cdu, self._list
        cdu.drive_pumps(TICK_S)
        density = coolant.density_kg_m3(cdu.t_supply_c)
        branches = [rack.branch(density) for rack in racks]
        drive = network.FixedSpeed(tuple(cdu.speeds))
        solution = network.solve(self._loop(branches, density), drive, cdu.curve, self._last, rounds=4)
        self._last = solution
        cdu.take(solution)
        inlets = self._heat.supply(cdu.t_supply_c, racks, TICK_S)
        out_lpm = 0.0
        for i, rack in enumerate(racks):
            if branches[i].kv_in > 0.0:
                rack.carry(
                    solution.flow_in[i], solution.flow_out[i], solution.inner[i], solution.lost[i], density, TICK_S
                )
            else:
                rack.hold(solution.supply_bar[i + 1], solution.return_bar[i + 1], density, TICK_S)
            rack.warm(inlets[i], TICK_S)
            out_lpm += rack.flow_supply_lpm - rack.flow_return_lpm
            cdu.sump_l += rack.to_sump_l
        mean_before = 0.5 * (cdu.t_supply_c + cdu.t_return_c)
        cdu.exchange(self._heat.back(racks, cdu.t_return_c, TICK_S), self.now_s, TICK_S)
        warmer_k = 0.5 * (cdu.t_supply_c + cdu.t_return_c) - mean_before
        grown_l = self._heat.volume_l * coolant.expansion_per_k(cdu.t_supply_c) * warmer_k
        cdu.balance(out_lpm, grown_l, TICK_S)

    # -- the start -----------------------------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Give every flowing rack its design flow: walk the header from its far end, where constant dP stands at its set-point."""
        cdu, config = self.cdu, self.config.cdu
        density = coolant.density_kg_m3(config.t_supply_set_c)
        sg = density / 1000.0
        wanted = [r.config.design_flow_lpm / M3H_TO_LPM if r.config.start is Start.FLOWING else 0.0 for r in self._list]
        rises = [2.0 * valve.pressure_drop_bar(sum(wanted[i:]), config.kv_segment, sg) for i in range(len(wanted))]
        for i, rack in enumerate(self._list):
            if wanted[i] <= 0.0:
                continue
            # The set-point holds at node dp_node; nearer nodes stand higher by the segments between, farther ones lower.
            dp_bar = (
                config.dp_setpoint_kpa / 100.0 + sum(rises[i + 1 : config.dp_node]) - sum(rises[config.dp_node : i + 1])
            )
            rest = valve.series_kv(rack.config.kv_rack, rack.config.xv_kvs, rack.config.xv_kvs)
            flow, kv = valve.controlled_flow_m3h(wanted[i], dp_bar, rack.config.fcv_kvs, rest, sg)
            if flow < wanted[i] * 0.999:
                raise ValueError(
                    f"{rack.config.name}: {rack.config.design_flow_lpm:.0f} L/min need more than {dp_bar:.2f} bar of header dP "
                    f"with FCV-101 Kvs {rack.config.fcv_kvs} and Kv_rack {rack.config.kv_rack}; raise dp_setpoint_kpa or take a larger valve"
                )
            position = valve.equal_percentage_position(kv, rack.config.fcv_kvs, rack.config.fcv_rangeability)
            rack.fcv.position = rack.fcv.shaft = rack.fcv.command = position
        branches = [rack.branch(density) for rack in self._list]
        drive = cdu.steady_drive()
        if isinstance(drive, network.ConstantFlow) and not any(wanted):
            drive = network.FixedSpeed((0.2,) * config.pumps)
        solution = network.solve(self._loop(branches, density), drive, cdu.curve)
        cdu.start_at(solution.speed)
        cdu.take(solution)
        self._last = solution
        for i, rack in enumerate(self._list):
            if branches[i].kv_in > 0.0:
                rack.carry(solution.flow_in[i], solution.flow_out[i], solution.inner[i], solution.lost[i], density, 0.0)
            rack.settle(config.t_supply_set_c)

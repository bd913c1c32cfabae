"""What a simulated plant is built of: sizes, set-points and how it stands at the start. Frozen; checked where it is made."""

from dataclasses import dataclass, field
from enum import StrEnum


class CduMode(StrEnum):
    """What the CDU's pumps hold."""

    FIXED_SPEED = "fixed_speed"
    CONSTANT_DP = "constant_dp"
    CONSTANT_FLOW = "constant_flow"


class Start(StrEnum):
    """How a rack stands when the plant is made."""

    FLOWING = "flowing"
    """Valves open, full, permit on, FCV-101 where it gives the design flow, temperatures settled."""
    ISOLATED = "isolated"
    """Valves shut, full, permit off, at supply temperature."""
    DRAINED = "drained"
    """Valves shut, empty, permit off."""


@dataclass(frozen=True, slots=True)
class RackConfig:
    """One rack. Conductances are Kv in m³/h.

    kv_rack           everything between inlet and outlet manifold: 12..20 for 132..230 kW
    fcv_kvs           30.4 (DN50) serves 132 kW, 50 (DN65) 230 kW
    solid_kj_k, coolant_kj_k   heat capacity of solids with cold plates, and of the coolant that warms with them; not scaled with the
                      rating, which is the careful choice: 115 kJ/K in all is what the process safety times are estimated with
    ua_kw_k           cold plates at design flow; falls as flow^ua_exponent down to that of ``ua_least_ratio`` of it, which still liquid keeps
    manifold_l        liquid between cold plates and TT-102: a delay without mixing
    liquid_fraction   share of the load that goes into the liquid
    compliance_l_per_bar, gas_bar_l   how the shut rack gives way, and the gas it holds as P_abs·V
    cv_102_…, psv_101_…   thermal relief to the return header, and safety valve to the sump
    """

    name: str
    rated_kw: float
    load_kw: float
    design_flow_lpm: float
    kv_rack: float
    fcv_kvs: float
    ua_kw_k: float
    fcv_rangeability: float = 50.0
    fcv_stroke_s: float = 90.0
    fcv_dead_band: float = 0.005
    fcv_feedback_step: float = 0.001
    xv_kvs: float = 90.0
    xv_rangeability: float = 30.0
    xv_open_s: float = 5.0
    xv_close_s: float = 3.5
    small_valve_s: float = 2.0
    drain_kv: float = 1.6
    vent_kv: float = 0.6
    volume_l: float = 45.0
    height_m: float = 2.0
    solid_kj_k: float = 55.0
    coolant_kj_k: float = 60.0
    ua_exponent: float = 0.65
    ua_least_ratio: float = 0.4
    manifold_l: float = 8.0
    liquid_fraction: float = 0.97
    compliance_l_per_bar: float = 0.02
    gas_bar_l: float = 0.02
    cv_102_kv: float = 0.1
    cv_102_crack_kpa: float = 40.0
    psv_101_kv: float = 1.0
    psv_101_kpa: float = 600.0
    feeder_efficiency: float = 0.975
    busbar_v: float = 50.0
    start: Start = Start.FLOWING


@dataclass(frozen=True, slots=True)
class CduConfig:
    """The CDU and its headers.

    pump_dp0_bar, pump_a     one pump's curve at full speed; ``pumps`` equal ones run together
    kv_segment, segment_l    header between two racks, supply and return alike: Kv and litres of each
    dp_node                  where constant dP is measured: 0 at the CDU, n at rack n (remote)
    vessel_gas_l             gas cushion of the expansion vessel at ``static_kpa``
    makeup_lpm_per_kpa       make-up by pressure, at most ``makeup_max_lpm``, out of ``reservoir_l``
    ua_kw_k                  heat exchanger; facility water at ``facility_c``, at most ``facility_max_lpm`` through a motor valve
    mix_l                    liquid of the CDU that mixes behind the exchanger
    """

    pumps: int
    pump_dp0_bar: float
    pump_a: float
    kv_cdu: float
    mode: CduMode
    dp_setpoint_kpa: float
    flow_setpoint_lpm: float
    speed_setpoint_pct: float
    ua_kw_k: float
    facility_max_lpm: float
    kv_segment: float = 300.0
    segment_l: float = 60.0
    dp_node: int = 0
    pump_efficiency: float = 0.62
    ramp_s: float = 5.0
    coast_s: float = 2.0
    static_kpa: float = 150.0
    vessel_gas_l: float = 60.0
    makeup_lpm_per_kpa: float = 4.0
    makeup_max_lpm: float = 40.0
    reservoir_l: float = 200.0
    sump_l: float = 120.0
    facility_c: float = 30.0
    facility_stroke_s: float = 30.0
    t_supply_set_c: float = 40.0
    mix_l: float = 40.0


@dataclass(frozen=True, slots=True)
class RoomConfig:
    """The air about the racks, for the dew point."""

    air_c: float = 27.0
    humidity_pct: float = 45.0


@dataclass(frozen=True, slots=True)
class PlantConfig:
    """Racks in the order of the header, nearest to the CDU first."""

    cdu: CduConfig
    racks: tuple[RackConfig, ...]
    room: RoomConfig = field(default_factory=RoomConfig)

    def __post_init__(self) -> None:
        names = [rack.name for rack in self.racks]
        if not names or len(set(names)) != len(names):
            raise ValueError(f"a plant needs racks with different names, not {names}")
        if not 0 <= self.cdu.dp_node <= len(names):
            raise ValueError(f"dp_node is {self.cdu.dp_node}: allowed are 0 (the CDU) to {len(names)} (the last rack)")

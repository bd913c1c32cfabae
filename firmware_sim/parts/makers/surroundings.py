"""What a device in a rack can feel of it."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Surroundings:
    """True values of one rack and its loop at one moment; the defaults are a small rack in service.

    wet  detector place (LDT-101..103) -> liquid there
    """

    flow_lpm: float = 198.0
    flow_return_lpm: float = 198.0
    t_supply_c: float = 30.0
    t_return_c: float = 40.0
    p_supply_kpa: float = 250.0
    p_return_kpa: float = 150.0
    fcv_open_pct: float = 50.0
    feeder_kw: float = 136.0
    mains: bool = True
    busbar_kw: float = 132.0
    busbar_v: float = 50.0
    permit_closed: bool = True
    stop_healthy: bool = True
    wet: dict[str, bool] = field(default_factory=dict)
    loop_flow_lpm: float = 800.0
    loop_p_supply_kpa: float = 350.0
    loop_p_return_kpa: float = 150.0
    loop_t_supply_c: float = 30.0
    loop_t_return_c: float = 40.0
    loop_level_pct: float = 80.0
    pump_speeds_pct: tuple[float, ...] = (80.0, 80.0)
    pump_kw: float = 6.0
    loop_leaks: bool = False

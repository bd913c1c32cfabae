"""What hangs on a rack's terminals: coils, commands and contacts, as its devices drive and read them."""

from firmware_sim.physics.actuator import Actuator, MotorActuator
from firmware_sim.plant_config import RackConfig
from firmware_sim.rack_power import RackPower
from firmware_sim.spill import Spill


class RackTerminals:
    """The rack's valves, power and basins, under the names its devices use."""

    def __init__(self, config: RackConfig, flowing: bool) -> None:
        opened = 1.0 if flowing else 0.0
        self.config = config
        self.xv_101 = Actuator(config.xv_open_s, config.xv_close_s, opened)
        self.xv_102 = Actuator(config.xv_open_s, config.xv_close_s, opened)
        self.xv_103 = Actuator(config.small_valve_s, config.small_valve_s)
        self.xv_104 = Actuator(config.small_valve_s, config.small_valve_s)
        self.fcv = MotorActuator(config.fcv_stroke_s, 0.0, config.fcv_dead_band, config.fcv_feedback_step)
        self.power = RackPower(config, flowing)
        self.spill = Spill()

    def move(self, dt_s: float) -> None:
        """Actuators and power, which change faster than the hydraulics."""
        self.xv_101.advance(dt_s)
        self.xv_102.advance(dt_s)
        self.xv_103.advance(dt_s)
        self.xv_104.advance(dt_s)
        self.fcv.advance(dt_s)
        self.power.advance(dt_s)

    @property
    def xv_101_coil(self) -> bool:
        """Coil of the supply isolation valve, after the wiring."""
        return self.xv_101.coil

    @xv_101_coil.setter
    def xv_101_coil(self, on: bool) -> None:
        self.xv_101.coil = on

    @property
    def xv_102_coil(self) -> bool:
        """Coil of the return isolation valve."""
        return self.xv_102.coil

    @xv_102_coil.setter
    def xv_102_coil(self, on: bool) -> None:
        self.xv_102.coil = on

    @property
    def xv_103_coil(self) -> bool:
        """Coil of the drain valve."""
        return self.xv_103.coil

    @xv_103_coil.setter
    def xv_103_coil(self, on: bool) -> None:
        self.xv_103.coil = on

    @property
    def xv_104_coil(self) -> bool:
        """Coil of the vent valve."""
        return self.xv_104.coil

    @xv_104_coil.setter
    def xv_104_coil(self, on: bool) -> None:
        self.xv_104.coil = on

    @property
    def fcv_command_pct(self) -> float | None:
        """Wanted position of FCV-101, %open; None when its bus is lost."""
        return None if self.fcv.command is None else self.fcv.command * 100.0

    @fcv_command_pct.setter
    def fcv_command_pct(self, pct: float | None) -> None:
        self.fcv.command = None if pct is None else pct / 100.0

    @property
    def permit_coil(self) -> bool:
        """Coil of XS-101's contactor."""
        return self.power.permit_coil

    @permit_coil.setter
    def permit_coil(self, on: bool) -> None:
        self.power.permit_coil = on

    @property
    def load_kw(self) -> float:
        """What the IT would draw, kW."""
        return self.power.load_kw

    @load_kw.setter
    def load_kw(self, kw: float) -> None:
        self.power.load_kw = kw

    @property
    def permit_closed(self) -> bool:
        """XI-101."""
        return self.power.permit_closed

    @property
    def feeder_kw(self) -> float:
        """JT-101."""
        return self.power.feeder_kw

    @property
    def busbar_kw(self) -> float:
        """ET-101, load."""
        return self.power.busbar_kw

    @property
    def busbar_v(self) -> float:
        """ET-101, volts."""
        return self.power.busbar_v

    @property
    def wet(self) -> dict[str, bool]:
        """Liquid at LDT-101, LDT-102, LDT-103."""
        return self.spill.wet

    @property
    def spilled_l(self) -> float:
        """All that ever left through holes, litres."""
        return self.spill.total_l

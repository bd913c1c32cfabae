"""One rack's devices on the bench: its firmwares, its wiring, and how they hang on the plant."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from firmware_sim.load import SquareWave
from firmware_sim.parts.channel import Channel
from firmware_sim.parts.firmware import Firmware
from firmware_sim.parts.leak_panel import LeakPanel
from firmware_sim.parts.makers.device import MakersDevice
from firmware_sim.parts.meters import BusbarMeter, FeederMeter
from firmware_sim.parts.noise import Noise
from firmware_sim.parts.transmitters import Transmitters
from firmware_sim.parts.valve_controller import ValveController
from firmware_sim.parts.wiring import XS_101, XV_101, XV_102, XV_103, XV_104, BufferedSupply, EmergencyStop
from firmware_sim.physics.actuator import Actuator, MotorActuator
from firmware_sim.physics.coolant import density_kg_m3
from firmware_sim.power_rig import PowerRig
from firmware_sim.rack_plant import RackPlant
from firmware_sim.troubles import Jump, Lie, Pair, exchanged

BOOT_S = 2.0  # from 24 V to the first answered request
VALVES = ("XV-101", "XV-102", "XV-103", "XV-104")
_COIL_OF = {"XV-101": XV_101, "XV-102": XV_102, "XV-103": XV_103, "XV-104": XV_104}


@dataclass(slots=True)
class Rig:
    """The devices of one rack.

    mains      the rack has its AC feeds; feeder_off: its breaker is open, the 24 V live on another feed; load_kw is what IT would draw with the permit on
    wave       moves load_kw over time; None = it stays
    lies       valve -> what its feedback shows
    broken     limit switches with a broken wire: they never read made
    jumps      valves that stick and jump
    makers     devices of makers beside the reference devices; one that drives FCV-101 does so once it was told to
    power      its shelves and its room sensor, where it has any
    swapped    pairs of supply and return sensors that hang on each other's terminals
    running    the devices have their 24 V and have booted; ``supplied`` is what their wires were last told of it
    """

    name: str
    plant: RackPlant
    seed: int
    load_kw: float = 0.0
    wave: SquareWave | None = None
    mains: bool = True
    feeder_off: bool = False
    cut_24v: bool = False
    key_locked: bool = False
    sump_high: bool = False
    cdu_trip: bool = False
    lies: dict[str, Lie] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    jumps: dict[str, Jump] = field(default_factory=dict)
    stop: EmergencyStop = field(default_factory=EmergencyStop)
    supply: BufferedSupply = field(default_factory=BufferedSupply)
    valves: ValveController = field(init=False)
    transmitters: Transmitters = field(init=False)
    leak_panel: LeakPanel = field(init=False)
    busbar: BusbarMeter = field(init=False)
    feeder: FeederMeter = field(init=False)
    makers: dict[str, MakersDevice] = field(default_factory=dict)
    power: PowerRig | None = None
    swapped: set[Pair] = field(default_factory=set)
    running: bool = True
    supplied: bool = True
    _boot_due_s: float = 0.0
    _driven: tuple[object, ...] = ()
    _seen: tuple[object, ...] = ()

    def __post_init__(self) -> None:
        self.valves = ValveController(f"VC-{self.name}", self.seed)
        self.transmitters = Transmitters(f"TX-{self.name}", self.seed)
        self.leak_panel = LeakPanel(f"LP-{self.name}")
        # Where along the floor rope water would stand, metres from the panel; the same seed, the same place.
        self.leak_panel.zones["LDT-103"].distance_m = 1.0 + Noise(self.seed).bits() % 80 / 10
        self.busbar = BusbarMeter(f"BM-{self.name}", self.seed)
        self.feeder = FeederMeter(f"PM-{self.name}", self.seed)

    @property
    def has_shelves(self) -> bool:
        """Its bus bar hangs on shelves that are devices, and may live on batteries."""
        return self.power is not None and self.power.has_shelves

    def devices(self) -> dict[str, Firmware]:
        """The firmwares by the name of their bus."""
        return {
            "valve_controller": self.valves,
            "transmitters": self.transmitters,
            "leak_panel": self.leak_panel,
            "busbar_meter": self.busbar,
            "feeder_meter": self.feeder,
            **self.makers,
            **(self.power.devices() if self.power is not None else {}),
        }

    def channels(self) -> Iterator[tuple[str, str, Channel]]:
        """Every analogue measurement: tag, device, channel."""
        for tag, channel in self.transmitters.channels.items():
            yield tag, "transmitters", channel
        for tag, channel in self.busbar.channels.items():
            yield tag, "busbar_meter", channel
        for tag, channel in self.feeder.channels.items():
            yield tag, "feeder_meter", channel
        yield "ZT-101", "valve_controller", self.valves.position
        if self.power is not None:
            yield from self.power.channels()

    def actuator(self, tag: str) -> Actuator | MotorActuator:
        """The drive of a valve: XV-101..104 or FCV-101."""
        plant = self.plant
        drives: dict[str, Actuator | MotorActuator] = {
            "XV-101": plant.xv_101,
            "XV-102": plant.xv_102,
            "XV-103": plant.xv_103,
            "XV-104": plant.xv_104,
            "FCV-101": plant.fcv,
        }
        return drives[tag]

    def drive(self, now_s: float, dt_s: float) -> None:
        """Put the load and what the wiring lets through onto the plant; called before the plant moves on."""
        if self.wave is not None:
            self.load_kw = self.wave.at(now_s)
        on = self.supply.on
        fcv_pct = self.valves.fcv_command_pct
        for maker in self.makers.values():
            fcv_pct = fcv_pct if maker.fcv_command_pct is None else maker.fcv_command_pct
        fed = self.mains and not self.feeder_off
        driven = (*self.valves.wiring.coils, on, fcv_pct, self.running, self.load_kw, fed)
        if driven != self._driven:
            self._driven = driven
            plant, coils = self.plant, self.valves.wiring.coils
            plant.xv_101_coil = on and coils[XV_101]
            plant.xv_102_coil = on and coils[XV_102]
            plant.xv_103_coil = on and coils[XV_103]
            plant.xv_104_coil = on and coils[XV_104]
            plant.permit_coil = on and coils[XS_101]
            plant.fcv_command_pct = fcv_pct if self.running else None
            plant.load_kw = self.load_kw if fed or self.has_shelves else 0.0
        if self.power is not None:
            self.power.drive(mains=fed, now_s=now_s, dt_s=dt_s)
        if self.jumps:
            for tag, jump in self.jumps.items():
                jump.step(self.actuator(tag), dt_s)

    def step_valves(self, now_s: float, dt_s: float, sump_high: bool = False) -> None:
        """The fast part: supply, contacts, wiring, expiries; ``sump_high`` is the common sump's float."""
        self.supply.step(self.mains and not self.cut_24v, dt_s)
        self._follow_supply(now_s)
        seen = self._seen_by_contacts(sump_high)
        if seen != self._seen:
            self._seen = seen
            self._read_contacts(sump_high)
            self.valves.contacts_changed()
        self.valves.contacts.fcv_open_pct = self._fcv_open_pct()
        if self.running:
            self.valves.step(now_s, dt_s)

    def step_instruments(self, now_s: float, dt_s: float) -> None:
        """The transmitters, the panel and the meters."""
        plant = self.plant
        if self.running:
            # The plant counts litres at the supply's temperature; the return meter stands in warm liquid, which takes more room.
            expansion = density_kg_m3(plant.t_supply_c) / density_kg_m3(plant.t_return_c)
            true = (
                plant.flow_supply_lpm,
                plant.flow_return_lpm * expansion,
                plant.flow_drain_lpm,
                plant.t_supply_c,
                plant.t_return_c,
                plant.t_return_c,
                plant.t_return_c,
                plant.p_supply_kpa,
                plant.p_return_kpa,
            )
            self.transmitters.step(exchanged(true, self.swapped) if self.swapped else true, now_s, dt_s)
            for tag, zone in self.leak_panel.zones.items():
                zone.wet = plant.wet.get(tag, False)
            self.leak_panel.step(now_s, dt_s)
            volts = plant.busbar_v if (self.mains and not self.feeder_off) or self.has_shelves else 0.0
            self.busbar.step(volts, plant.busbar_kw, now_s, dt_s)
        if self.power is not None:
            self.power.step(now_s, dt_s)
        self.feeder.step(plant.feeder_kw, self.mains, now_s, dt_s)

    def _follow_supply(self, now_s: float) -> None:
        """Devices stop with their 24 V and boot when it returns."""
        if self.running and not self.supply.on:
            self.running = False
            self.valves.start(now_s)  # commands and coils are gone with the supply
            self._boot_due_s = float("inf")
            if self.power is not None:
                self.power.stop(now_s)
        elif not self.running and self.supply.on:
            if self._boot_due_s == float("inf"):
                self._boot_due_s = now_s + BOOT_S
            elif now_s >= self._boot_due_s:
                self.running = True
                on_24v = (maker for maker in self.makers.values() if maker.on_24v)
                for device in (self.valves, self.transmitters, self.leak_panel, self.busbar, *on_24v):
                    device.start(now_s)
                if self.power is not None:
                    self.power.start(now_s)

    def _seen_by_contacts(self, sump_high: bool) -> tuple[object, ...]:
        """All that the contacts depend on; they are read again when any of it changed."""
        plant = self.plant
        return (
            plant.xv_101.position,
            plant.xv_102.position,
            plant.xv_103.position,
            plant.xv_104.position,
            plant.power.permit_closed,
            self.stop.tripped,
            self.key_locked,
            self.sump_high or sump_high,
            self.cdu_trip,
            bool(self.lies or self.broken) and (*self.lies.items(), *self.broken, *self.valves.wiring.coils),
        )

    def _read_contacts(self, sump_high: bool) -> None:
        plant, contacts = self.plant, self.valves.contacts
        contacts.zso_101, contacts.zsc_101 = self._limits("XV-101", plant.xv_101.open_limit, plant.xv_101.shut_limit)
        contacts.zso_102, contacts.zsc_102 = self._limits("XV-102", plant.xv_102.open_limit, plant.xv_102.shut_limit)
        contacts.zsc_103 = self._limits("XV-103", plant.xv_103.open_limit, plant.xv_103.shut_limit)[1]
        contacts.zsc_104 = self._limits("XV-104", plant.xv_104.open_limit, plant.xv_104.shut_limit)[1]
        contacts.permit_closed = plant.permit_closed
        contacts.stop_healthy = self.stop.healthy
        contacts.key_locked = self.key_locked
        contacts.sump_not_high = not (self.sump_high or sump_high)
        contacts.cdu_trip = self.cdu_trip

    def _limits(self, valve: str, open_limit: bool, shut_limit: bool) -> tuple[bool, bool]:
        """ZSO and ZSC as their switches have them: wiring and controller see the same contacts."""
        if self.lies or self.broken:
            lie = self.lies.get(valve)
            if lie is Lie.FOLLOWS_COMMAND:
                on = self.valves.wiring.coils[_COIL_OF[valve]]
                open_limit, shut_limit = on, not on
            elif lie is not None:
                open_limit, shut_limit = lie in {Lie.OPEN, Lie.BOTH}, lie in {Lie.SHUT, Lie.BOTH}
            number = valve.removeprefix("XV-")
            open_limit = open_limit and f"ZSO-{number}" not in self.broken
            shut_limit = shut_limit and f"ZSC-{number}" not in self.broken
        return open_limit, shut_limit

    def _fcv_open_pct(self) -> float:
        if not self.lies:
            return self.plant.fcv.feedback * 100.0
        lie = self.lies.get("FCV-101")
        if lie is Lie.FOLLOWS_COMMAND and self.valves.fcv_command_pct is not None:
            return self.valves.fcv_command_pct
        if lie is not None and lie is not Lie.FOLLOWS_COMMAND:
            return 100.0 if lie is Lie.OPEN else 0.0
        return self.plant.fcv.feedback * 100.0

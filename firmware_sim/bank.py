"""The whole bench in stepped time: the plant, every rack's devices, the CDU's controller, and the faults in force.

Nothing here waits or listens. ``advance`` moves everything by simulated seconds; the bench calls it in real time and
a test or a soak calls it as fast as it likes.
"""

from collections.abc import Callable
from math import ceil

from firmware_sim.bench_config import BenchConfig
from firmware_sim.fault_book import Fault, FaultBook
from firmware_sim.load import SquareWave
from firmware_sim.makers_bench import step_makers
from firmware_sim.parts.cdu import CduController, CduMode, CduTruth
from firmware_sim.parts.channel import Channel
from firmware_sim.parts.firmware import Firmware
from firmware_sim.parts.makers.catalogue import MAKERS
from firmware_sim.parts.noise import Noise, seed_of
from firmware_sim.plant import Plant
from firmware_sim.plant_config import CduMode as PlantMode
from firmware_sim.plant_config import Start
from firmware_sim.power_bench import deliver, follow_shelves
from firmware_sim.power_rig import PowerRig
from firmware_sim.rig import Rig
from firmware_sim.serial_line import LineSetting, SimulatedLine
from firmware_sim.spill import PLACES
from firmware_sim.stamps import StampKind, Stamps
from firmware_sim.watch import Watch
from firmware_sim.wire import Endpoint

MAX_STEP_S = 0.020  # limit switches, wiring and expiries resolve to this or better
INSTRUMENTS_S = 0.040  # transmitters, panel and meters are stepped so often
_EPSILON_S = 1e-9


class Bank:
    """A plant with its devices.

    rigs       rack -> its devices
    endpoints  ``r01/valve_controller`` … ``cdu`` -> the device's wire (listening or not)
    lines      serial lines and gateways, by name (open or not)
    stamps     what changed and what was written, and when
    """

    def __init__(self, config: BenchConfig, clock_ns: Callable[[], int] | None = None) -> None:
        self.config = config
        self.plant = Plant(config.plant_config(), config.seed)
        self.stamps = Stamps(clock_ns or (lambda: round(self.now_s * 1e9)))
        self.wire_now_s: Callable[[], float] = lambda: self.plant.now_s
        self.rigs = {name: Rig(name, rack, seed_of(config.seed, name)) for name, rack in self.plant.racks.items()}
        for setting in config.racks:
            rig = self.rigs[setting.name]
            rig.makers = {name: MAKERS[name](f"{name}-{setting.name}") for name in setting.also}
            if setting.power is not None:
                rig.power = PowerRig(setting.name, setting.power, rig.plant, rig.seed)
        self.cdu = CduController("CDU-1", config.seed)
        self.endpoints: dict[str, Endpoint] = {}
        for name, rig in self.rigs.items():
            for device, firmware in rig.devices().items():
                self._add_endpoint(f"{name}/{device}", firmware)
        self._add_endpoint("cdu", self.cdu)
        self._endpoints = tuple(self.endpoints.values())
        self.lines = {setting.name: self._line(setting) for setting in config.lines}
        self.book = FaultBook(self)
        self.mode_before_fault = CduMode.CONSTANT_DP
        self._instruments_s = 0.0
        self._watches: list[Watch] = []
        self._show_set_points()
        self._begin()
        deliver(self)

    def _begin(self) -> None:
        """Stand in the initial state, as if a controller had just left, with the transmitters settled."""
        for rack in self.config.racks:
            rig = self.rigs[rack.name]
            rig.load_kw = rack.load_kw
            rig.step_valves(self.now_s, 0.0)
            if rack.start is Start.FLOWING:
                rig.valves.hand_over((True, True, False, False, True), rig.plant.fcv.position * 100, self.now_s)
        self._show()
        for endpoint in self._endpoints:
            endpoint.firmware.take_facts()  # the state at the start is not news

    def _add_endpoint(self, name: str, firmware: Firmware) -> None:
        noise = Noise(seed_of(self.config.seed, f"wire {name}"))
        self.endpoints[name] = Endpoint(name, firmware, self._wire_now, self._on_write, noise)

    def _line(self, setting: LineSetting) -> SimulatedLine:
        if unknown := [name for name in setting.units.values() if name not in self.endpoints]:
            raise ValueError(f"line {setting.name}: no device {unknown[0]!r}; one of {', '.join(self.endpoints)}")
        units = {unit: self.endpoints[name] for unit, name in setting.units.items()}
        return SimulatedLine(setting, units, Noise(seed_of(self.config.seed, f"line {setting.name}")))

    def _wire_now(self) -> float:
        return max(self.wire_now_s(), self.plant.now_s)

    # -- time -------------------------------------------------------------------------------------------------------

    @property
    def now_s(self) -> float:
        return self.plant.now_s

    def advance(self, dt_s: float) -> None:
        """Move everything by ``dt_s`` simulated seconds, in equal steps of at most 20 ms."""
        steps = max(1, ceil((dt_s - _EPSILON_S) / MAX_STEP_S))
        for _ in range(steps):
            self._step(dt_s / steps)

    def _step(self, dt_s: float) -> None:
        rigs = self.rigs.values()
        for rig in rigs:
            rig.drive(self.plant.now_s, dt_s)
        self.plant.advance(dt_s)
        now_s = self.plant.now_s
        if now_s < self.config.attended_s:
            self._attend(now_s)
        self._instruments_s += dt_s
        sump_high = self.plant.cdu.sump_high
        instruments_s = self._instruments_s if self._instruments_s + _EPSILON_S >= INSTRUMENTS_S else 0.0
        for rig in rigs:
            rig.step_valves(now_s, dt_s, sump_high)
            if rig.running is not rig.supplied:
                self._follow_supply(rig)
            if rig.power is not None:
                follow_shelves(rig.name, rig.power, self.endpoints)
            if instruments_s > 0.0:
                rig.step_instruments(now_s, instruments_s)
                step_makers(rig, self.plant.cdu, now_s, instruments_s)
        if instruments_s > 0.0:
            self._instruments_s = 0.0
            self._step_cdu(instruments_s)
        self.book.step()
        self.collect()
        for watch in self._watches:
            if watch.step():
                self._stamp(watch.rig.name, watch.name, float(watch.crossed))

    def _follow_supply(self, rig: Rig) -> None:
        """The devices on the rack's 24 V fall silent with it; the feeder meter lives on the feed's own."""
        rig.supplied = rig.running
        shelves = rig.power.all_shelves() if rig.power is not None else {}
        for device in rig.devices():
            on_24v = device not in rig.makers or rig.makers[device].on_24v
            if on_24v and device != "feeder_meter" and device not in shelves:
                self.endpoints[f"{rig.name}/{device}"].set_power(supplied=rig.running)

    def refresh(self) -> None:
        """Let the registers show now what was just changed by hand."""
        self._show()
        self.collect()

    def _show(self) -> None:
        for rig in self.rigs.values():
            rig.step_valves(self.now_s, 0.0, self.plant.cdu.sump_high)
            rig.step_instruments(self.now_s, 0.0)
            step_makers(rig, self.plant.cdu, self.now_s, 0.0)
        self._step_cdu(0.0)

    def _attend(self, now_s: float) -> None:
        """Until a controller takes over, keep the expiries from running out (as the controller before it did)."""
        for rig in self.rigs.values():
            if rig.valves.writes == 0:
                rig.valves.rearm(now_s)

    # -- the wire ---------------------------------------------------------------------------------------------------------

    def collect(self) -> None:
        """Stamp what the firmwares noted since the last time."""
        for endpoint in self._endpoints:
            if endpoint.firmware.has_facts:
                self._stamp_facts(endpoint, self.stamps.clock_ns())

    def _stamp_facts(self, endpoint: Endpoint, at_ns: int) -> None:
        rack, _, device = endpoint.name.rpartition("/")
        for what, value in endpoint.firmware.take_facts():
            kind = StampKind.COMMAND if what.endswith(" command") else StampKind.REGISTER
            self.stamps.add(kind, rack, device, what, value, self._wire_now(), at_ns)

    def _on_write(self, endpoint: Endpoint, address: int, values: tuple[int, ...], arrived_ns: int) -> None:
        rack, _, device = endpoint.name.rpartition("/")
        now_s = self._wire_now()
        self.stamps.add(StampKind.WRITE, rack, device, str(address), values[0], now_s, arrived_ns, values)
        self._stamp_facts(endpoint, arrived_ns)
        if endpoint.firmware is self.cdu and self.cdu.take_request():
            self._take_set_points()
        if not endpoint.firmware.answers:  # it was told to start anew: this reply is its last for a while
            endpoint.set_power(supplied=False)

    def note_fault(self, fault: Fault, value: float) -> None:
        """Show a fault's begin or end in the registers at once, and stamp both."""
        self.refresh()
        what = " ".join(part for part in (fault.kind.name, fault.tag, fault.place) if part)
        self.stamps.add(StampKind.FAULT, fault.rack or "", fault.device or "", what, value, self.now_s)

    # -- finding things -----------------------------------------------------------------------------------------------------

    def channels(self, rack: str | None) -> dict[str, Channel]:
        """Tag -> channel of a rack, or of the CDU for None; empty for an unknown rack."""
        if rack is None:
            return self.cdu.channels
        rig = self.rigs.get(rack)
        return {tag: channel for tag, _, channel in rig.channels()} if rig else {}

    def devices_of(self, rack: str | None) -> list[str]:
        return ["cdu"] if rack is None else list(self.rigs[rack].devices())

    def endpoint_name(self, rack: str | None, device: str | None, tag: str | None) -> str | None:
        """The endpoint of a device, or of the device that carries ``tag``; None when there is none."""
        if device is None and tag is not None:
            device = self._carrier(rack, tag)
        if rack is None:
            return "cdu" if device in {None, "cdu"} else None
        name = f"{rack}/{device}"
        return name if name in self.endpoints else None

    def _carrier(self, rack: str | None, tag: str) -> str | None:
        if rack is None:
            return "cdu" if tag in self.cdu.channels else None
        if tag.startswith("LD"):
            return "leak_panel"
        power = self.rigs[rack].power
        if power is not None and (device := power.carrier(tag)) is not None:
            return device
        for known, device, _ in self.rigs[rack].channels():
            if known == tag:
                return device
        return "valve_controller" if tag.startswith(("X", "Z", "H", "L", "F")) else None

    def endpoint_of(self, fault: Fault) -> Endpoint:
        name = self.endpoint_name(fault.rack, fault.device, fault.tag)
        if name is None:
            raise KeyError(f"no device for {fault}")
        return self.endpoints[name]

    def watch(self, rack: str, tag: str, below: float | None, above: float | None) -> str:
        """Stamp from now on when a measured value falls below or rises above a limit; returns the stamp's ``what``."""
        name = f"{tag} < {below:g}" if below is not None else f"{tag} > {above:g}" if above is not None else tag
        self._watches.append(Watch(self.rigs[rack], name, self.channels(rack)[tag], below, above))
        return name

    def _stamp(self, rack: str, what: str, value: float) -> None:
        self.stamps.add(StampKind.REGISTER, rack, "", what, value, self.now_s)

    # -- the plant -------------------------------------------------------------------------------------------------------

    def set_load(self, rack: str, kw: float, low_kw: float | None = None, period_s: float | None = None) -> None:
        """What a rack's IT would draw from now on: constant, or a square wave with both of the last. Raises ValueError."""
        if (low_kw is None) is not (period_s is None):
            raise ValueError("a square wave needs low_kw and period_s, a constant load neither")
        rig = self.rigs[rack]
        rig.wave = None if low_kw is None or period_s is None else SquareWave(kw, low_kw, period_s, self.now_s)
        rig.load_kw = kw

    def leak_places(self, rack: str | None) -> tuple[str, ...]:
        return ("header", "cdu") if rack is None else tuple(PLACES)

    def set_leak_mm(self, rack: str | None, place: str, hole_mm: float) -> None:
        """Bore or close a hole."""
        leaks = self.plant.cdu.leak_mm if rack is None else self.plant.racks[rack].leak_mm
        leaks[place] = hole_mm

    def cdu_mode(self) -> CduMode:
        return CduMode[self.plant.cdu.mode.name]

    def set_cdu_mode(self, mode: CduMode) -> None:
        """Change what the CDU holds, at its own panel."""
        self.plant.cdu.mode = PlantMode[mode.name]
        self._show_set_points()

    def _show_set_points(self) -> None:
        cdu = self.plant.cdu
        self.cdu.show_set_points(self.cdu_mode(), cdu.dp_setpoint_kpa, cdu.flow_setpoint_lpm, cdu.speed_setpoint_pct)
        self.cdu.show_supply(cdu.t_supply_set_c)

    def _take_set_points(self) -> None:
        cdu = self.plant.cdu
        mode, cdu.dp_setpoint_kpa, cdu.flow_setpoint_lpm, cdu.speed_setpoint_pct = self.cdu.set_points()
        cdu.t_supply_set_c = self.cdu.supply_c
        cdu.mode = PlantMode[mode.name]
        cdu.pump_enabled = [self.cdu.running] * len(cdu.pump_enabled)

    def _step_cdu(self, dt_s: float) -> None:
        cdu = self.plant.cdu
        speeds = (*cdu.pump_speed_pct, 0.0)
        self.cdu.step(
            CduTruth(
                (cdu.p_supply_kpa, cdu.p_return_kpa, cdu.flow_lpm, cdu.t_supply_c, cdu.t_return_c, cdu.level_pct),
                (speeds[0], speeds[1]),
                cdu.pump_kw,
                cdu.makeup_lpm,
                any(cdu.pump_tripped),
                cdu.wet["LDT-201"],
                self.cdu_mode(),
                100.0 * cdu.sump_l / cdu.config.sump_l,
            ),
            self.now_s,
            dt_s,
        )

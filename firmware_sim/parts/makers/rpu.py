"""ORv3 RPU (AALC): reservoir, pumps and rear-door exchanger. Live alarms, sensor faults and sticky copies are apart."""

from firmware_sim.parts.makers.device import DeviceFault, MakersDevice
from firmware_sim.parts.makers.surroundings import Surroundings
from firmware_sim.parts.registers import DeviceMap, Kind, Row, Table

_H = Table.HOLDING
_U16, _S16, _U32, _BITS, _ASCII = Kind.U16, Kind.S16, Kind.U32, Kind.BITS, Kind.ASCII
_STICKY = (
    *(f"sticky chassis {n} stop" for n in range(4)),
    *("sticky internal leak", "sticky external leak", "sticky external leak 1", "sticky external leak 2"),
    *("sticky pan leak", "sticky floor leak", "sticky pan relay", "sticky floor relay"),
)
_SENSORS = (
    *("inlet thermometer", "outlet thermometer", "inlet gauge", "outlet gauge", "flow meter", "HEX air out 1", "HEX air out 2"),
    *("HEX air in 1", "HEX air in 2", "HX water", "air inlet", "HSC", "middle gauge", "low gauge", "static gauge", "bladder"),
)  # fmt: skip
_STATUS = (
    *("reservoir low", "outlet hot", "inlet hot", "air hot", "outlet pressure", "HEX water hot", "pump failed"),
    *("loop blocked", "emergency button", "ready deasserted", "Y filter"),
)
_LEAKS = (
    *(f"chassis {n} stop" for n in range(4)),
    *("internal leak", "external leak", "external leak 1", "external leak 2", "pan leak", "floor leak", "pan relay"),
    *("floor relay", "pan sensor error", "floor sensor error"),
)
_HEX = (
    *(f"HEX fan {n} failed" for n in range(1, 11)),
    "coil dirty",
    "",
    "group 1 lost",
    "group 2 lost",
    "group 3 lost",
)

# fmt: off
RPU = DeviceMap(
    device="delta-orv3-rpu", vendor="Delta", product="RDF040DSS5193E0", revision="1.4", unit_id=12, max_connections=1,
    functions=frozenset({3, 6, 16}),
    rows=(
        *(Row(_H, 6561 + n, name) for n, name in enumerate(_STICKY)),
        Row(_H, 0x19CC, "model", _ASCII, words=8),
        Row(_H, 0x9000, "flow", _U16, "L/min", 0.1),
        Row(_H, 0x9001, "outlet temperature", _S16, "degC", 0.1),
        Row(_H, 0x9002, "inlet temperature", _S16, "degC", 0.1),
        Row(_H, 0x9003, "outlet pressure", _S16, "kPa", 0.1),
        Row(_H, 0x9004, "inlet pressure", _S16, "kPa", 0.1),
        Row(_H, 0x9005, "RPU power", _U16, "W", 0.1),
        Row(_H, 0x9006, "total power", _U16, "W", 0.1),
        Row(_H, 0x9007, "input voltage", _U16, "V", 0.1),
        Row(_H, 0x9008, "air inlet", _U16, "degC", 0.1),
        Row(_H, 0x9009, "pump PWM", _U16, "%"),
        *(Row(_H, 0x900A + n, f"pump {n + 1} rpm", _U16, "rpm") for n in range(4)),
        Row(_H, 0x900E, "fans", _BITS, bits=("fan 1", "fan 2")),
        Row(_H, 0x9011, "cooling capacity", _U16, "W", 0.1),
        *(Row(_H, 0x9012 + n, f"pump {n + 1} status") for n in range(4)),
        Row(_H, 0x9016, "reservoir status"),
        Row(_H, 0x9017, "lamps", _BITS, bits=("reservoir", "reservoir blinks", "leak lamp", "fault lamp", "power lamp")),
        Row(_H, 0x9018, "pump status"),
        *(Row(_H, 0x9030 + 2 * n, f"pump {n + 1} runtime", _U32, "h", words=2) for n in range(4)),
        Row(_H, 0x9101, "HEX power", _U16, "W", 0.1),
        *(Row(_H, 0x9104 + n, f"HEX fan {n + 1}", _U16, "rpm") for n in range(10)),
        Row(_H, 0x910E, "HEX air out 1", _U16, "degC", 0.1),
        Row(_H, 0x910F, "HEX air out 2", _U16, "degC", 0.1),
        Row(_H, 0x9110, "HEX air in 1", _U16, "degC", 0.1),
        Row(_H, 0x9111, "HEX air in 2", _U16, "degC", 0.1),
        Row(_H, 0x9112, "HEX water in", _U16, "degC", 0.1),
        Row(_H, 0x9113, "bladder status"),
        Row(_H, 0x9114, "Y-filter pressure", _U16, scale=0.1),
        Row(_H, 0x9115, "static pressure"),
        Row(_H, 0x9116, "bladder level"),
        Row(_H, 0x91FF, "Y-filter fault", _BITS, bits=("Y filter sensor",)),
        Row(_H, 0x9200, "sensor faults", _BITS, bits=_SENSORS),
        Row(_H, 0x9201, "status", _BITS, bits=_STATUS),
        Row(_H, 0x9202, "leaks", _BITS, bits=_LEAKS),
        Row(_H, 0x9203, "HEX faults", _BITS, bits=_HEX),
        Row(_H, 0x9400, "flow target", _U16, "L/min", 0.1, writable=True),
        Row(_H, 0x9401, "outlet target", _U16, "degC", 0.1, writable=True),
        Row(_H, 0x9402, "rotation", writable=True),
        Row(_H, 0x9403, "pump duty", _U16, "%", writable=True, low=0, high=100),
        Row(_H, 0x9404, "fan duty", _U16, "%", writable=True, low=0, high=100),
        Row(_H, 0x9410, "control", _BITS, writable=True, note="5 system stop"),
        Row(_H, 0x9411, "leak enable", _BITS, writable=True, low=0, high=63),
        Row(_H, 0xA020, "rack pressure 3", _U16, "kPa", 0.1),
        Row(_H, 0xA021, "rack pressure 4", _U16, "kPa", 0.1),
        Row(_H, 0xA022, "rack level 1"),
        Row(_H, 0xA023, "rack level 2"),
        Row(_H, 0xA02B, "CDU leak rope", _U16, "V", 0.01),
        Row(_H, 0xA02C, "rack leak rope", _U16, "V", 0.01),
        Row(_H, 0xA14A, "HEX pressure 1", _U16, "kPa", 0.1),
        Row(_H, 0xA14B, "HEX pressure 2", _U16, "kPa", 0.1),
        *(Row(_H, 0xA403 + n, f"pump {n + 1} duty", _U16, "%", writable=True, low=0, high=100) for n in range(3)),
    ),
)
# fmt: on


class Rpu(MakersDevice):
    """Shows the loop's CDU as an RPU would; its own targets and stop are taken and move nothing of the plant."""

    on_24v = False
    supports = frozenset({
        DeviceFault.ALL_ONES, DeviceFault.SENSOR, DeviceFault.FLOW_SENSOR, DeviceFault.BLOCKED, DeviceFault.LEAK,
        DeviceFault.CABLE_BREAK, DeviceFault.SATURATED,
    })  # fmt: skip

    def __init__(self, serial: str = "RPU-0001") -> None:
        super().__init__(RPU, serial)
        self.write_text("model", RPU.product)
        for name, value in (("flow target", 80.0), ("outlet target", 30.0), ("rotation", 24), ("pump duty", 60)):
            self.put(name, value)
        for name, value in (("leak enable", 0b111111), ("bladder level", 73), ("rack level 1", 1), ("rack level 2", 1)):
            self.put(name, value)
        for n in range(4):
            self.put(f"pump {n + 1} runtime", 70_000 + n)
        self.start(0.0)

    def step(self, seen: Surroundings, now_s: float, dt_s: float) -> None:
        t_in, t_out = self.hit(DeviceFault.SENSOR, 1), self.hit(DeviceFault.SENSOR, 2)
        flow_lost, blocked = DeviceFault.FLOW_SENSOR in self.faults, DeviceFault.BLOCKED in self.faults
        leak, cable = seen.loop_leaks or DeviceFault.LEAK in self.faults, DeviceFault.CABLE_BREAK in self.faults
        # A broken sensor's register is 0 here; the fault word alone tells it from a true 0.
        self.put("flow", 0.0 if flow_lost else max(seen.loop_flow_lpm, 0.0))
        self.put("outlet temperature", 0.0 if t_out else seen.loop_t_supply_c)
        self.put("inlet temperature", 0.0 if t_in else seen.loop_t_return_c)
        self.put("outlet pressure", seen.loop_p_supply_kpa)
        self.put("inlet pressure", seen.loop_p_return_kpa)
        power_w = 1e6 if DeviceFault.SATURATED in self.faults else 1000.0 * seen.pump_kw
        for name, value in (("RPU power", power_w), ("total power", power_w + 400.0), ("HEX power", 380.0)):
            self.put(name, value)
        for name, value in (("input voltage", 48.2), ("air inlet", 24.0), ("HEX water in", seen.loop_t_return_c)):
            self.put(name, value)
        for n in range(1, 5):
            speed = seen.pump_speeds_pct[n - 1] if n <= len(seen.pump_speeds_pct) else 0.0
            stopped = self.hit(DeviceFault.BLOCKED, n)
            self.put(f"pump {n} rpm", 0.0 if stopped else 60.0 * speed)
            self.put(f"pump {n} status", 2.0 if stopped else float(speed > 0.0))
        self.put("pump PWM", max(seen.pump_speeds_pct, default=0.0))
        self.bits("fans", fan_1=True, fan_2=True)
        for n in range(1, 11):
            self.put(f"HEX fan {n}", 3000.0 + 10 * n)
        for n, name in enumerate(("HEX air out 1", "HEX air out 2", "HEX air in 1", "HEX air in 2")):
            self.put(name, 35.0 + n if n < 2 else 23.0 + n)
        self.put("cooling capacity", 5500.0)
        for name, value in (("Y-filter pressure", 12.5), ("static pressure", 118), ("reservoir status", 1)):
            self.put(name, value)
        for name, value in (("rack pressure 3", seen.p_supply_kpa), ("rack pressure 4", seen.p_return_kpa)):
            self.put(name, value)
        for name, value in (("CDU leak rope", 0.4 if leak else 4.8), ("rack leak rope", 4.79), ("pump status", 1)):
            self.put(name, value)
        self.put("HEX pressure 1", 205.0)
        self.put("HEX pressure 2", 187.5)
        self.bits("sensor faults", inlet_thermometer=t_in, outlet_thermometer=t_out, flow_meter=flow_lost)
        self.bits("status", pump_failed=blocked, reservoir_low=seen.loop_level_pct < 20.0)
        self.bits("leaks", internal_leak=leak and not cable, pan_sensor_error=cable)
        self.bits("lamps", reservoir=True, leak_lamp=leak, fault_lamp=blocked or flow_lost or cable, power_lamp=True)
        if leak:
            self.put("sticky internal leak", 1)

"""The register maps of the reference devices, row by row as docs/devices/reference_devices.md gives them.

Typed from that page on purpose and not from any profile, so that a wrong address in a profile shows.
"""

from firmware_sim.parts.maps_common import COMMON, VENDOR
from firmware_sim.parts.maps_power import POWER_MAPS
from firmware_sim.parts.registers import DeviceMap, Kind, Row, Table

_IN, _HOLD = Table.INPUT, Table.HOLDING
_U16, _BITS, _F32 = Kind.U16, Kind.BITS, Kind.F32

LIMIT_BITS = ("ZSO-101", "ZSC-101", "ZSO-102", "ZSC-102", "ZSC-103", "ZSC-104")
COIL_BITS = ("XY-101", "XY-102", "XY-103", "XY-104", "XSY-101")
CONTACT_BITS = ("XI-101", "HS-101 healthy", "HS-102 locked", "LSH-203 not high", "US-201 closed")
STATUS_BITS = (
    "valves expired",
    "permit expired",
    "emergency stop sealed out",
    "stroke test running",
    "stroke test passed",
    "stroke test failed",
)
LEAK_BITS = ("wet", "cable break", "contamination")

# fmt: off
VALVE_CONTROLLER = DeviceMap(
    device="valve_controller", vendor=VENDOR, product="racky-valve-ctrl", revision="1.0.0", max_connections=4,
    watchdogs={
        "valves": "XV-101..104 drop after holding 100 (0.1 s, default 150); re-armed by a write that covers any of 0..3; "
                  "a dropped coil stays off until its command was written 0 once",
        "permit": "XS-101 drops after holding 101 (0.1 s, default 80); re-armed by a write that covers 8; "
                  "it stays off until its command was written 0 once",
    },
    rows=(
        Row(_HOLD,   0, "XV-101 command",  _U16, writable=True, watchdog="valves", note="1 energise (open), 0 shut"),
        Row(_HOLD,   1, "XV-102 command",  _U16, writable=True, watchdog="valves", note="1 energise (open), 0 shut"),
        Row(_HOLD,   2, "XV-103 command",  _U16, writable=True, watchdog="valves", note="drain"),
        Row(_HOLD,   3, "XV-104 command",  _U16, writable=True, watchdog="valves", note="vent"),
        Row(_HOLD,   4, "FCV-101 command", _U16, "%open", 0.01, writable=True, note="0..10000; holds when the bus is lost"),
        Row(_HOLD,   8, "XS-101 command",  _U16, writable=True, watchdog="permit", note="1 permit on, 0 off"),
        Row(_HOLD,  16, "stroke test",     _U16, writable=True, note="1 XV-101, 2 XV-102; reads 0 when done"),
        Row(_HOLD, 100, "valve expiry",    _U16, "s", 0.1, writable=True, persistent=True),
        Row(_HOLD, 101, "permit expiry",   _U16, "s", 0.1, writable=True, persistent=True),
        Row(_HOLD, 102, "stroke XV-101",   _U16, "s", 0.1, writable=True, persistent=True),
        Row(_HOLD, 103, "stroke XV-102",   _U16, "s", 0.1, writable=True, persistent=True),
        Row(_IN, 0, "limit switches",      _BITS, bits=LIMIT_BITS, note="1 made"),
        Row(_IN, 1, "coils read back",     _BITS, bits=COIL_BITS, note="1 energised, after all wiring"),
        Row(_IN, 2, "contacts",            _BITS, bits=CONTACT_BITS),
        Row(_IN, 3, "ZT-101",              _U16, "%open", 0.01, note="0xFFFF sensor fault"),
        Row(_IN, 4, "status",              _BITS, bits=STATUS_BITS),
        Row(_IN, 5, "valve expiry left",   _U16, "s", 0.01),
        Row(_IN, 6, "permit expiry left",  _U16, "s", 0.01),
        Row(_IN, 7, "writes accepted",     _U16, note="wraps"),
        Row(_IN, 8, "heartbeat",           _U16, note="+1 every 10 ms, wraps"),
        Row(_IN, 9, "reserved",            _U16),
        *COMMON,
    ),
)

TRANSMITTER_TAGS = ("FT-101", "FT-102", "FT-103", "TT-101", "TT-102A", "TT-102B", "TT-102C", "PT-101", "PT-102")
TRANSMITTERS = DeviceMap(
    device="transmitters", vendor=VENDOR, product="racky-loop-tx", revision="1.0.0",
    rows=(
        Row(_IN,  0, "FT-101",  _F32, "L/min", words=2),
        Row(_IN,  2, "FT-102",  _F32, "L/min", words=2),
        Row(_IN,  4, "FT-103",  _F32, "L/min", words=2),
        Row(_IN,  6, "TT-101",  _F32, "degC",  words=2),
        Row(_IN,  8, "TT-102A", _F32, "degC",  words=2),
        Row(_IN, 10, "TT-102B", _F32, "degC",  words=2),
        Row(_IN, 12, "TT-102C", _F32, "degC",  words=2),
        Row(_IN, 14, "PT-101",  _F32, "kPa",   words=2, note="gauge"),
        Row(_IN, 16, "PT-102",  _F32, "kPa",   words=2, note="gauge"),
        Row(_IN, 18, "heartbeat", _U16, note="+1 every 10 ms, wraps"),
        Row(_IN, 19, "status", _BITS, bits=TRANSMITTER_TAGS, note="1 channel in fault; it then reads NaN"),
        *COMMON,
    ),
)

LEAK_PANEL = DeviceMap(
    device="leak_panel", vendor=VENDOR, product="racky-leak-panel", revision="1.0.0",
    rows=(
        Row(_IN, 0, "LDT-101", _BITS, bits=LEAK_BITS),
        Row(_IN, 1, "LDT-102", _BITS, bits=LEAK_BITS),
        Row(_IN, 2, "LDT-103", _BITS, bits=LEAK_BITS),
        Row(_IN, 3, "LDX-103", _U16, "m", 0.1, note="distance, 0 none"),
        Row(_IN, 4, "heartbeat", _U16, note="+1 every 10 ms, wraps"),
        Row(_IN, 5, "LDT-103 leakage current", _U16, "uA"),
        Row(_HOLD, 15, "leak alarm delay", _U16, "s", writable=True, persistent=True, note="5..995, default 5"),
        Row(_HOLD, 16, "contamination delay", _U16, "s", writable=True, persistent=True, note="default 120"),
        *COMMON,
    ),
)

BUSBAR_METER = DeviceMap(
    device="busbar_meter", vendor=VENDOR, product="racky-busbar", revision="1.0.0",
    rows=(
        Row(_IN, 0, "EV-101", _F32, "V",  words=2),
        Row(_IN, 2, "ET-101", _F32, "kW", words=2),
        Row(_IN, 4, "bus-bar current", _F32, "A", words=2),
        Row(_IN, 6, "heartbeat", _U16, note="+1 every 10 ms, wraps"),
        *COMMON,
    ),
)

FEEDER_METER = DeviceMap(
    device="feeder_meter", vendor="Schneider Electric", product="PM5560", revision="2.9.0",
    rows=(
        Row(_HOLD, 2999, "phase A current", _F32, "A", words=2, note="list 3000; NaN not available"),
        Row(_HOLD, 3019, "voltage L-L", _F32, "V", words=2, note="list 3020"),
        Row(_HOLD, 3059, "JT-101", _F32, "kW", words=2, note="list 3060, total active power"),
        Row(_HOLD, 3109, "frequency", _F32, "Hz", words=2, note="list 3110"),
        *COMMON,
    ),
)

CDU = DeviceMap(
    device="cdu", vendor=VENDOR, product="racky-cdu", revision="1.0.0", max_connections=8,
    rows=(
        Row(_IN,  0, "PT-201", _F32, "kPa",   words=2, note="supply header"),
        Row(_IN,  2, "PT-202", _F32, "kPa",   words=2, note="return header"),
        Row(_IN,  4, "FT-201", _F32, "L/min", words=2),
        Row(_IN,  6, "TT-201", _F32, "degC",  words=2),
        Row(_IN,  8, "TT-202", _F32, "degC",  words=2),
        Row(_IN, 10, "LT-201", _F32, "%",     words=2),
        Row(_IN, 12, "pump speed", _F32, "%", words=2),
        Row(_IN, 14, "P-201A speed", _F32, "%", words=2),
        Row(_IN, 16, "P-201B speed", _F32, "%", words=2),
        Row(_IN, 18, "pump power", _F32, "kW", words=2),
        Row(_IN, 20, "make-up flow", _F32, "L/min", words=2),
        Row(_IN, 22, "status", _BITS, bits=("pump trip", "low level", "LDT-201", "make-up running")),
        Row(_IN, 23, "mode", _U16, note="0 fixed speed, 1 constant dP, 2 constant flow"),
        Row(_IN, 24, "heartbeat", _U16, note="+1 every 10 ms, wraps"),
        Row(_IN, 25, "LT-203", _U16, "%", 0.01, note="drain sump; 0xFFFF no sump, or sensor fault"),
        Row(_HOLD, 0, "mode set", _U16, writable=True),
        Row(_HOLD, 1, "pumps", _U16, writable=True, note="1 run, 0 stop"),
        Row(_HOLD, 2, "dP set point", _F32, "kPa", words=2, writable=True),
        Row(_HOLD, 4, "flow set point", _F32, "L/min", words=2, writable=True),
        Row(_HOLD, 6, "speed set point", _F32, "%", words=2, writable=True),
        Row(_HOLD, 8, "supply set point", _F32, "degC", words=2, writable=True),
        *COMMON,
    ),
)
# fmt: on

MAPS: dict[str, DeviceMap] = {
    device_map.device: device_map
    for device_map in (VALVE_CONTROLLER, TRANSMITTERS, LEAK_PANEL, BUSBAR_METER, FEEDER_METER, CDU)
} | POWER_MAPS

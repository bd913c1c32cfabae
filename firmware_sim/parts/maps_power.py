"""Register maps of the rack's power and room devices, as docs/devices/reference_devices.md (7 to 10) gives them.

Typed from that page and not from any profile, as ``maps`` is.
"""

from firmware_sim.parts.maps_common import COMMON, VENDOR
from firmware_sim.parts.orv3_mailbox import BOOT_MODE, DATA, EXIT, STATUS, UNLOCK, VERIFY
from firmware_sim.parts.registers import DeviceMap, Kind, Row, Table

_IN, _HOLD = Table.INPUT, Table.HOLDING
_U16, _S16, _BITS, _F32 = Kind.U16, Kind.S16, Kind.BITS, Kind.F32

PSUS = ("A", "B", "C", "D", "E", "F")
PSU_AT, PSU_STRIDE = 8, 8
PACKET_WORDS = 32
SENSOR_FAULT = 0x8000
REVISION = "1.1.0"
"""What the shelves run as they are delivered today."""

SHELF_BITS = ("output on", "AC present", "current limit")
PSU_BITS = ("fault", "fan fault", "AC not ok", "hot")
BATTERY_BITS = ("output on", "feeding", "charging", "inhibited", "empty", "fault")
ROOM_BITS = ("ZS-110",)


def _psu_rows(number: int, psu: str) -> tuple[Row, ...]:
    at = PSU_AT + PSU_STRIDE * number
    return (
        Row(_IN, at, f"PSU {psu} power", _F32, "kW", words=2),
        Row(_IN, at + 2, f"PSU {psu} voltage", _F32, "V", words=2),
        Row(_IN, at + 4, f"PSU {psu} inlet", _S16, "degC", 0.1, missing=SENSOR_FAULT, note="0x8000 sensor fault"),
        Row(_IN, at + 5, f"PSU {psu} fan", _U16, "rpm"),
        Row(_IN, at + 6, f"PSU {psu} status", _BITS, bits=PSU_BITS),
        Row(_IN, at + 7, f"PSU {psu} input", _U16, "V", 0.1, note="AC"),
    )


# fmt: off
_MAILBOX: tuple[Row, ...] = (
    Row(_HOLD, UNLOCK,    "update key",       _U16, writable=True, note="0x55AA unlocks; reads 0"),
    Row(_HOLD, BOOT_MODE, "update boot mode", _U16, writable=True, note="0xA5A5 enters and erases; output must be off; reads 0"),
    Row(_HOLD, STATUS,    "update status",    _U16, note="0 normal, 1 boot, 6 accepted, 0x18 wait, 0x55 failed, 0xAA whole"),
    Row(_HOLD, VERIFY,    "update verify",    _U16, writable=True, note="0x55AA checks the image; reads 0"),
    Row(_HOLD, EXIT,      "update exit",      _U16, writable=True, note="0x55AA starts anew; reads 0"),
    Row(_HOLD, DATA,      "update packet",    _U16, words=PACKET_WORDS, writable=True, note="64 bytes in one write; reads 0"),
)
_COMMAND = Row(_HOLD, 0, "output command", _U16, writable=True, low=0, high=1, note="1 on, 0 off; 0 after a start; does not expire")
_HEARTBEAT = Row(_IN, 1, "heartbeat", _U16, note="+1 every 10 ms, wraps")

POWER_SHELF = DeviceMap(
    device="power_shelf", vendor=VENDOR, product="racky-pwr-shelf", revision=REVISION, max_connections=4,
    rows=(
        _COMMAND,
        Row(_IN, 0, "state", _BITS, bits=SHELF_BITS),
        _HEARTBEAT,
        Row(_IN, 2, "shelf power",   _F32, "kW", words=2),
        Row(_IN, 4, "shelf voltage", _F32, "V",  words=2),
        Row(_IN, 6, "shelf current", _F32, "A",  words=2),
        *(row for number, psu in enumerate(PSUS) for row in _psu_rows(number, psu)),
        Row(_IN, 56, "slot", _U16, note="0 A, 1 B runs"),
        *_MAILBOX,
        *COMMON,
    ),
)

BATTERY_SHELF = DeviceMap(
    device="battery_shelf", vendor=VENDOR, product="racky-bat-shelf", revision=REVISION, max_connections=4,
    rows=(
        _COMMAND,
        Row(_IN, 0, "state", _BITS, bits=BATTERY_BITS),
        _HEARTBEAT,
        Row(_IN,  2, "state of charge",     _F32, "%",  words=2),
        Row(_IN,  4, "battery power",       _F32, "kW", words=2, note="below 0: charging"),
        Row(_IN,  6, "battery voltage",     _F32, "V",  words=2),
        Row(_IN,  8, "battery current",     _F32, "A",  words=2),
        Row(_IN, 10, "battery temperature", _S16, "degC", 0.1, missing=SENSOR_FAULT, note="0x8000 sensor fault"),
        Row(_IN, 11, "slot", _U16, note="0 A, 1 B runs"),
        *_MAILBOX,
        *COMMON,
    ),
)

ROOM = DeviceMap(
    device="room", vendor=VENDOR, product="racky-room", revision="1.0.0",
    rows=(
        Row(_IN, 0, "TT-110", _F32, "degC", words=2, note="NaN sensor fault"),
        Row(_IN, 2, "MT-110", _F32, "%",    words=2, note="relative humidity; NaN sensor fault"),
        Row(_IN, 4, "contacts", _BITS, bits=ROOM_BITS, note="1 door open, or its wire broken"),
        Row(_IN, 5, "heartbeat", _U16, note="+1 every 10 ms, wraps"),
        *COMMON,
    ),
)
# fmt: on

POWER_MAPS: dict[str, DeviceMap] = {device_map.device: device_map for device_map in (POWER_SHELF, BATTERY_SHELF, ROOM)}

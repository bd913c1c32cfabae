"""The base of the makers' devices: values into rows by name, writes by the map, and what can be wrong with a device."""

import struct
from collections.abc import Mapping, Sequence
from enum import StrEnum

from firmware_sim.parts.firmware import Firmware
from firmware_sim.parts.makers.surroundings import Surroundings
from firmware_sim.parts.registers import WIDE, Answer, DeviceMap, Kind, Row, Table


class DeviceFault(StrEnum):
    """What a maker's device may do wrong by itself; the value is in brackets."""

    NOT_AVAILABLE = "device_not_available"  # every measurement reads the maker's "not available"
    ALL_ONES = "device_all_ones"  # every register reads 65535, as some do while they start
    SENSOR = "device_sensor"  # the sensor [number] is broken
    FLOW_SENSOR = "device_flow_sensor"  # the flow meter does not answer
    BLOCKED = "device_blocked"  # the actuator or pump [number] does not move
    LEAK = "device_leak"  # zone [number] is wet for the device alone
    CABLE_BREAK = "device_cable_break"  # the cable of zone [number] is broken
    CONTAMINATION = "device_contamination"  # dirt on zone [number]
    LOOP_OPEN = "device_loop_open"  # current loop [number] is broken: 0 mA
    LOOP_FAILED = "device_loop_failed"  # the transmitter of loop [number] says so: 21.5 mA
    INPUT_LOST = "device_input_lost"  # its supply has no input
    SATURATED = "device_saturated"  # its power register is at its end
    WORN = "device_worn"  # the memory of its persistent registers is worn out: writes fail


class MakersDevice(Firmware):
    """A device stepped with its surroundings.

    supports           the faults that it can have
    on_24v             it hangs on the rack's 24 V and dies with them
    persistent_writes  how often a register that wears out was written
    """

    supports: frozenset[DeviceFault] = frozenset()
    on_24v = True

    def __init__(self, device_map: DeviceMap, serial: str) -> None:
        super().__init__(device_map, serial)
        self.rows: dict[str, Row] = {row.name: row for row in device_map.rows}
        self.faults: dict[DeviceFault, float] = {}
        self.persistent_writes = 0
        self._at = {(row.table, row.address): row for row in device_map.rows}
        self._words: dict[str, int] = {}
        self._before_ones: Mapping[str, bytes] = {}

    @property
    def fcv_command_pct(self) -> float | None:
        """What it drives the rack's flow control valve to; None for a device that is no actuator or was never told."""
        return None

    def step(self, seen: Surroundings, now_s: float, dt_s: float) -> None:
        """Show what it feels; ``dt_s`` is 0 when the registers are only to be brought up to date."""

    def show(self, seen: Surroundings, now_s: float, dt_s: float) -> None:
        """``step``, unless the device shows nothing but ones."""
        if DeviceFault.ALL_ONES in self.faults:
            for image in (self.input, self.holding):
                image.data[:] = b"\xff" * len(image.data)
        else:
            self.step(seen, now_s, dt_s)

    def set_fault(self, fault: DeviceFault, value: float) -> None:
        if fault is DeviceFault.ALL_ONES and fault not in self.faults:
            self._before_ones = {"input": bytes(self.input.data), "holding": bytes(self.holding.data)}
        self.faults[fault] = value

    def clear_fault(self, fault: DeviceFault) -> None:
        self.faults.pop(fault, None)
        if fault is DeviceFault.ALL_ONES and self._before_ones:
            self.input.data[:] = self._before_ones["input"]
            self.holding.data[:] = self._before_ones["holding"]

    def hit(self, fault: DeviceFault, number: int = 1) -> bool:
        """True while the fault is in force for this sensor, zone or channel."""
        return self.faults.get(fault) == number

    # -- values ------------------------------------------------------------------------------------------------------

    def put(self, name: str, value: float | None) -> None:
        """Show ``value`` (in the row's unit) in the row; None, or no meaning, shows the maker's "not available"."""
        row = self.rows[name]
        if row.table in {Table.COIL, Table.DISCRETE}:
            (self.coils if row.table is Table.COIL else self.discretes)[row.address] = bool(value)
            return
        image = self.input if row.table is Table.INPUT else self.holding
        if value is None and row.kind is Kind.F32:
            image.write(row.address, _ordered(b"\x7f\xc0\x00\x00", row.order or self.map.order))
        elif value is None:
            missing = 2 ** (16 * row.words) - 1 if row.missing is None else row.missing
            image.write(row.address, _ordered(missing.to_bytes(2 * row.words), row.order or self.map.order))
        else:
            image.write(row.address, self._packed(row, value))

    def measure(self, name: str, value: float | None) -> None:
        """``put`` for a measurement: none of them is available while the device says so."""
        self.put(name, None if DeviceFault.NOT_AVAILABLE in self.faults else value)

    def write_text(self, name: str, text: str) -> None:
        row = self.rows[name]
        (self.input if row.table is Table.INPUT else self.holding).set_text(row.address, row.words, text)

    def value(self, name: str) -> float:
        """What the row says, in its unit."""
        row = self.rows[name]
        if row.table in {Table.COIL, Table.DISCRETE}:
            return float((self.coils if row.table is Table.COIL else self.discretes)[row.address])
        image = self.input if row.table is Table.INPUT else self.holding
        raw = _ordered(image.read(row.address, row.words), row.order or self.map.order)
        return float(struct.unpack(">" + _CODE[row.kind], raw)[0]) * row.scale + row.offset

    def bits(self, name: str, **on: bool) -> None:
        """Show the named bits in a row of bits; spaces of their names are written as underscores."""
        row = self.rows[name]
        places = {bit.replace(" ", "_"): n for n, bit in enumerate(row.bits) if bit}
        word = sum(1 << places[bit] for bit, is_on in on.items() if is_on)
        if word != self._words.get(name):
            before = self._words.get(name, 0)
            self._words[name] = word
            for n, bit in enumerate(row.bits):
                if bit and (word ^ before) >> n & 1:
                    self.note(bit, float(word >> n & 1))
        self.put(name, float(word))

    def _packed(self, row: Row, value: float) -> bytes:
        exact = (value - row.offset) / row.scale
        if row.kind is Kind.F32:
            return _ordered(struct.pack(">f", exact), row.order or self.map.order)
        least, most = _LIMITS[row.kind]
        return _ordered(
            struct.pack(">" + _CODE[row.kind], min(max(round(exact), least), most)), row.order or self.map.order
        )

    # -- writes ------------------------------------------------------------------------------------------------------

    def write_registers(self, address: int, values: Sequence[int], now_s: float) -> Answer:
        """Whole rows that may be written, within their bounds; else nothing changes."""
        rows: list[tuple[Row, tuple[int, ...]]] = []
        at, end = address, address + len(values)
        while at < end:
            row = self._at.get((Table.HOLDING, at))
            if row is None or not row.writable:
                return Answer.ILLEGAL_ADDRESS
            raw = tuple(values[at - address : at - address + row.words])
            if len(raw) < row.words or not _within(row, raw, row.order or self.map.order):
                return Answer.ILLEGAL_VALUE
            rows.append((row, raw))
            at += row.words
        if DeviceFault.WORN in self.faults and any(row.persistent for row, _ in rows):
            return Answer.DEVICE_FAILURE
        for row, raw in rows:
            self.persistent_writes += row.persistent
            for offset, word in enumerate(raw):
                self.holding.set_u16(row.address + offset, 0 if row.clears else word)
            self.accepted(row, raw, now_s)
        return Answer.OK

    def accepted(self, row: Row, raw: tuple[int, ...], now_s: float) -> None:
        """Called for each row written, after the register has its new value."""
        self.note(row.name + " command", float(raw[0]))

    def write_coils(self, address: int, values: Sequence[bool], now_s: float) -> Answer:
        rows = [self._at.get((Table.COIL, at)) for at in range(address, address + len(values))]
        if any(row is None or not row.writable for row in rows):
            return Answer.ILLEGAL_ADDRESS
        self.coils[address : address + len(values)] = values
        for row, on in zip(rows, values, strict=True):
            if row is not None:
                self.note(row.name + " command", float(on))
        return Answer.OK


_CODE = {Kind.U16: "H", Kind.BITS: "H", Kind.S16: "h", Kind.U32: "I", Kind.S32: "i", Kind.F32: "f"}
_LIMITS = {
    Kind.U16: (0, 0xFFFF),
    Kind.BITS: (0, 0xFFFF),
    Kind.S16: (-0x8000, 0x7FFF),
    Kind.U32: (0, 0xFFFF_FFFF),
    Kind.S32: (-0x8000_0000, 0x7FFF_FFFF),
}


def _ordered(raw: bytes, order: str) -> bytes:
    """Big-endian bytes to the wire and back: exchanging two words is its own opposite."""
    return raw[2:] + raw[:2] if order == "CDAB" and len(raw) == 4 else raw


def _within(row: Row, raw: tuple[int, ...], order: str) -> bool:
    if row.low is None or row.high is None:
        return True
    value = raw[0]
    if row.kind in WIDE:
        value = int.from_bytes(_ordered(struct.pack(">HH", *raw), order))
    return row.low <= value <= row.high

"""What every firmware has: identity, registers, a heartbeat, and facts about what changed.

A firmware is pure: it is stepped with ``(now_s, dt_s)`` and answers reads and writes at ``now_s``, simulated seconds
that never run backwards. It owns no socket and no clock.
"""

from collections.abc import Sequence
from typing import NamedTuple

from firmware_sim.parts.registers import Answer, DeviceMap, Image, Table

HEARTBEAT_PERIOD_S = 0.010
IDENTITY_ADDRESS = 900


class Fact(NamedTuple):
    """Something in the registers that changed: ``what`` is a tag or a point, ``value`` its new value."""

    what: str
    value: float


class Firmware:
    """The base of all devices.

    heartbeat  input register that counts every 10 ms, or None
    facts      what changed since the last ``take_facts``, in order
    closed     reads are asked of ``refuses`` before they are served
    """

    heartbeat: int | None = None
    closed = False

    def __init__(self, device_map: DeviceMap, serial: str) -> None:
        self.map = device_map
        self.serial = serial
        self.holding = Image(device_map.table(Table.HOLDING), device_map.unused)
        self.input = self.holding if device_map.mirrored else Image(device_map.table(Table.INPUT), device_map.unused)
        self.coils: list[bool] = [False] * _bit_count(device_map, Table.COIL)
        self.discretes: list[bool] = [False] * _bit_count(device_map, Table.DISCRETE)
        self._bit_places = {
            table: frozenset(row.address + n for row in device_map.table(table) for n in range(row.words))
            for table in (Table.COIL, Table.DISCRETE)
        }
        self.started_s = 0.0
        self._facts: list[Fact] = []
        self._bits: dict[int, int] = {}
        if self.input.covers(IDENTITY_ADDRESS, 21):
            self.input.set_text(900, 8, device_map.product)
            self.input.set_text(908, 4, device_map.revision)
            self.input.set_text(912, 8, serial)

    def identity(self) -> dict[int, str]:
        """The objects of FC 0x2B/0x0E, basic category."""
        return {0: self.map.vendor, 1: self.map.product, 2: self.map.revision}

    @property
    def answers(self) -> bool:
        """False while it is silent on the wire although it has power: while it starts."""
        return True

    def start(self, now_s: float) -> None:
        """Power-up: what is not persistent is forgotten."""
        self.started_s = now_s
        self.step_registers(now_s)

    def stop(self, now_s: float) -> None:
        """Power is gone. ``start`` follows when it is back."""

    def refuses(self, table: Table, address: int, count: int) -> Answer:
        """What a device that is closed says to a read: OK where it serves it all the same."""
        return Answer.OK

    def step_registers(self, now_s: float) -> None:
        """Bring the registers that count time up to ``now_s``."""
        if self.heartbeat is not None:
            self.input.set_u16(self.heartbeat, int((now_s - self.started_s) / HEARTBEAT_PERIOD_S + 1e-6))
        if self.input.covers(920, 1):
            self.input.set_u16(920, int(now_s - self.started_s))

    def before_read(self, now_s: float) -> None:
        """Called with every read, so that what counts time is never older than the reply."""
        self.step_registers(now_s)

    def write_registers(self, address: int, values: Sequence[int], now_s: float) -> Answer:
        """Accept or refuse a write of holding registers as a whole; a refused one changes nothing."""
        return Answer.ILLEGAL_ADDRESS

    def write_coil_value(self, address: int, value: int, now_s: float) -> Answer:
        """Serve function 5 with the value as it came: only on and off are in the standard."""
        if value not in {0x0000, 0xFF00}:
            return Answer.ILLEGAL_VALUE
        return self.write_coils(address, (value == 0xFF00,), now_s)

    def bits_exist(self, table: Table, address: int, count: int) -> bool:
        """True when every coil (discrete input) of the span exists."""
        return self._bit_places[table].issuperset(range(address, address + count))

    def write_coils(self, address: int, values: Sequence[bool], now_s: float) -> Answer:
        """The same for coils."""
        return Answer.ILLEGAL_ADDRESS

    @property
    def has_facts(self) -> bool:
        return bool(self._facts)

    def take_facts(self) -> list[Fact]:
        facts, self._facts = self._facts, []
        return facts

    def note(self, what: str, value: float) -> None:
        self._facts.append(Fact(what, value))

    def show_bits(self, address: int, bits: int, names: Sequence[str]) -> None:
        """Put ``bits`` into an input register and note each named bit that changed."""
        before = self._bits.get(address)
        if bits == before:
            return
        self._bits[address] = bits
        self.input.set_u16(address, bits)
        changed = bits ^ (before or 0)
        for position, name in enumerate(names):
            if changed >> position & 1 and name:
                self.note(name, float(bits >> position & 1))


def _bit_count(device_map: DeviceMap, table: Table) -> int:
    return max((row.address + row.words for row in device_map.table(table)), default=0)

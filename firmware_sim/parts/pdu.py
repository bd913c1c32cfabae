"""Modbus requests against a firmware: bytes of one PDU in, bytes of one PDU out.

FC 01..06, 15, 16 and 0x2B/0x0E. A read is copied straight from the device's image.
"""

from collections.abc import Callable
from struct import Struct, unpack

from firmware_sim.parts.firmware import Firmware
from firmware_sim.parts.registers import Answer, Table

READ_COILS, READ_DISCRETES, READ_HOLDING, READ_INPUT = 1, 2, 3, 4
WRITE_COIL, WRITE_REGISTER, WRITE_COILS, WRITE_REGISTERS = 5, 6, 15, 16
ENCAPSULATED, READ_IDENTITY = 0x2B, 0x0E
WRITES = frozenset({WRITE_COIL, WRITE_REGISTER, WRITE_COILS, WRITE_REGISTERS})

MAX_READ_BITS, MAX_WRITE_BITS, MAX_WRITE_REGISTERS = 2000, 1968, 123
_TWO = Struct(">HH")

Frozen = dict[Table, bytes]


def exception(function: int, answer: Answer) -> bytes:
    """The exception reply to ``function``."""
    return bytes(((function | 0x80) & 0xFF, answer))


def answer(firmware: Firmware, pdu: bytes, now_s: float, frozen: Frozen | None = None) -> bytes:
    """Serve one request. ``frozen`` is a gateway's old copy of the registers: reads come from it when given."""
    serve = _SERVE.get(pdu[0])
    if serve is None or pdu[0] not in firmware.map.functions:
        return exception(pdu[0], Answer.ILLEGAL_FUNCTION)
    if serve is _read_registers:
        return _read_registers(firmware, pdu, now_s, frozen)
    return serve(firmware, pdu, now_s, frozen)


def freeze(firmware: Firmware, now_s: float) -> Frozen:
    """Copy the registers as they are now."""
    firmware.before_read(now_s)
    return {Table.INPUT: bytes(firmware.input.data), Table.HOLDING: bytes(firmware.holding.data)}


def written(pdu: bytes) -> tuple[int, tuple[int, ...]]:
    """Address and values of an accepted write request."""
    address, second = _TWO.unpack_from(pdu, 1)
    if pdu[0] == WRITE_REGISTERS:
        return address, unpack(f">{second}H", pdu[6 : 6 + 2 * second])
    if pdu[0] == WRITE_COILS:
        return address, tuple(int(bit) for bit in _unpack_bits(pdu[6:], second))
    return address, (int(second == 0xFF00) if pdu[0] == WRITE_COIL else second,)


def _read_registers(firmware: Firmware, pdu: bytes, now_s: float, frozen: Frozen | None) -> bytes:
    function = pdu[0]
    image = firmware.input if function == READ_INPUT else firmware.holding
    if not image.data:
        return exception(function, Answer.ILLEGAL_FUNCTION)
    if len(pdu) != 5:
        return exception(function, Answer.ILLEGAL_VALUE)
    address, count = _TWO.unpack_from(pdu, 1)
    if not 1 <= count <= firmware.map.max_registers:
        return exception(function, Answer.ILLEGAL_VALUE)
    if not image.covers(address, count):
        return exception(function, Answer.ILLEGAL_ADDRESS)
    if firmware.closed:
        table = Table.INPUT if function == READ_INPUT else Table.HOLDING
        if said := firmware.refuses(table, address, count):
            return exception(function, said)
    if frozen is not None:
        data = frozen[Table.INPUT if function == READ_INPUT else Table.HOLDING][2 * address : 2 * (address + count)]
    else:
        firmware.before_read(now_s)
        data = bytes(image.data[2 * address : 2 * (address + count)])
    return bytes((function, 2 * count)) + data


def _read_bits(firmware: Firmware, pdu: bytes, now_s: float, frozen: Frozen | None) -> bytes:
    function = pdu[0]
    table = Table.COIL if function == READ_COILS else Table.DISCRETE
    bits = firmware.coils if function == READ_COILS else firmware.discretes
    if not bits:
        return exception(function, Answer.ILLEGAL_FUNCTION)
    if len(pdu) != 5:
        return exception(function, Answer.ILLEGAL_VALUE)
    address, count = _TWO.unpack_from(pdu, 1)
    if not 1 <= count <= MAX_READ_BITS:
        return exception(function, Answer.ILLEGAL_VALUE)
    if not firmware.bits_exist(table, address, count):
        return exception(function, Answer.ILLEGAL_ADDRESS)
    firmware.before_read(now_s)
    packed = _pack_bits(bits[address : address + count])
    return bytes((function, len(packed))) + packed


def _write_register(firmware: Firmware, pdu: bytes, now_s: float, frozen: Frozen | None) -> bytes:
    if not firmware.holding.data:
        return exception(WRITE_REGISTER, Answer.ILLEGAL_FUNCTION)
    if len(pdu) != 5:
        return exception(WRITE_REGISTER, Answer.ILLEGAL_VALUE)
    address, value = _TWO.unpack_from(pdu, 1)
    said = firmware.write_registers(address, (value,), now_s)
    return exception(WRITE_REGISTER, said) if said else pdu


def _write_registers(firmware: Firmware, pdu: bytes, now_s: float, frozen: Frozen | None) -> bytes:
    if not firmware.holding.data:
        return exception(WRITE_REGISTERS, Answer.ILLEGAL_FUNCTION)
    if len(pdu) < 8:
        return exception(WRITE_REGISTERS, Answer.ILLEGAL_VALUE)
    address, count = _TWO.unpack_from(pdu, 1)
    if not 1 <= count <= MAX_WRITE_REGISTERS or pdu[5] != 2 * count or len(pdu) != 6 + 2 * count:
        return exception(WRITE_REGISTERS, Answer.ILLEGAL_VALUE)
    said = firmware.write_registers(address, unpack(f">{count}H", pdu[6:]), now_s)
    return exception(WRITE_REGISTERS, said) if said else pdu[:5]


def _write_coil(firmware: Firmware, pdu: bytes, now_s: float, frozen: Frozen | None) -> bytes:
    if not firmware.coils:
        return exception(WRITE_COIL, Answer.ILLEGAL_FUNCTION)
    if len(pdu) != 5:
        return exception(WRITE_COIL, Answer.ILLEGAL_VALUE)
    address, value = _TWO.unpack_from(pdu, 1)
    said = firmware.write_coil_value(address, value, now_s)
    return exception(WRITE_COIL, said) if said else pdu


def _write_coils(firmware: Firmware, pdu: bytes, now_s: float, frozen: Frozen | None) -> bytes:
    if not firmware.coils:
        return exception(WRITE_COILS, Answer.ILLEGAL_FUNCTION)
    if len(pdu) < 7:
        return exception(WRITE_COILS, Answer.ILLEGAL_VALUE)
    address, count = _TWO.unpack_from(pdu, 1)
    size = (count + 7) // 8
    if not 1 <= count <= MAX_WRITE_BITS or pdu[5] != size or len(pdu) != 6 + size:
        return exception(WRITE_COILS, Answer.ILLEGAL_VALUE)
    said = firmware.write_coils(address, _unpack_bits(pdu[6:], count), now_s)
    return exception(WRITE_COILS, said) if said else pdu[:5]


def _identity(firmware: Firmware, pdu: bytes, now_s: float, frozen: Frozen | None) -> bytes:
    """Read device identification: the basic stream (code 1) or one object (code 4)."""
    if len(pdu) != 4 or pdu[1] != READ_IDENTITY:
        return exception(ENCAPSULATED, Answer.ILLEGAL_FUNCTION)
    code, first = pdu[2], pdu[3]
    objects = firmware.identity()
    if code == 1:
        chosen = {number: text for number, text in objects.items() if number >= first} or objects
    elif code == 4 and first in objects:
        chosen = {first: objects[first]}
    else:
        return exception(ENCAPSULATED, Answer.ILLEGAL_ADDRESS if code == 4 else Answer.ILLEGAL_VALUE)
    body = b"".join(bytes((number, len(text))) + text.encode("ascii") for number, text in chosen.items())
    return bytes((ENCAPSULATED, READ_IDENTITY, code, 0x81, 0x00, 0x00, len(chosen))) + body


def _pack_bits(bits: list[bool]) -> bytes:
    packed = bytearray((len(bits) + 7) // 8)
    for index, bit in enumerate(bits):
        packed[index >> 3] |= bit << (index & 7)
    return bytes(packed)


def _unpack_bits(data: bytes, count: int) -> tuple[bool, ...]:
    return tuple(bool(data[index >> 3] >> (index & 7) & 1) for index in range(count))


_SERVE: dict[int, Callable[[Firmware, bytes, float, Frozen | None], bytes]] = {
    READ_COILS: _read_bits,
    READ_DISCRETES: _read_bits,
    READ_HOLDING: _read_registers,
    READ_INPUT: _read_registers,
    WRITE_COIL: _write_coil,
    WRITE_REGISTER: _write_register,
    WRITE_COILS: _write_coils,
    WRITE_REGISTERS: _write_registers,
    ENCAPSULATED: _identity,
}

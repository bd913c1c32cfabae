"""How long Modbus RTU frames take on the wire."""


def silence_s(baud: float, bits_per_char: float) -> float:
    """The t3.5 silence before a frame: 3.5 characters, fixed at 1.75 ms above 19 200 baud."""
    return 0.00175 if baud > 19_200 else 3.5 * bits_per_char / baud


def frame_s(characters: int, baud: float, bits_per_char: float) -> float:
    """Time of the characters of one frame."""
    return characters * bits_per_char / baud


def read_request_s(baud: float, bits_per_char: float) -> float:
    """A request to read registers: address, function, start, count, CRC = 8 characters."""
    return frame_s(8, baud, bits_per_char)


def read_response_s(registers: int, baud: float, bits_per_char: float) -> float:
    """A reply of ``registers`` registers: address, function, byte count, data, CRC = 5 + 2n characters."""
    return frame_s(5 + 2 * registers, baud, bits_per_char)


def read_transaction_s(registers: int, baud: float, bits_per_char: float, turnaround_s: float) -> float:
    """Silence, request, the slave's turnaround, silence, reply."""
    request_s = silence_s(baud, bits_per_char) + read_request_s(baud, bits_per_char)
    return request_s + turnaround_s + silence_s(baud, bits_per_char) + read_response_s(registers, baud, bits_per_char)

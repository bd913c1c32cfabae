"""What a wire may do to a reply: frames made wrong on purpose, and when their pieces leave."""

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from firmware_sim.parts.noise import Noise
from firmware_sim.parts.pdu import WRITES


class WireFault(StrEnum):
    """A fault of one device's link; the value is in brackets."""

    NO_REPLY = "no_reply"  # requests vanish
    LATE_REPLY = "late_reply"  # replies come [ms] later
    GARBAGE = "garbage"  # replies are random bytes
    WRONG_TRANSACTION = "wrong_transaction"  # replies carry another transaction id
    WRONG_UNIT = "wrong_unit"  # replies carry another unit id
    WRONG_FUNCTION = "wrong_function"  # replies carry another function code
    SHORT_REPLY = "short_reply"  # reads give one register less than asked
    WRONG_ECHO = "wrong_echo"  # writes echo another value
    SPLIT = "split"  # replies come in pieces [ms] apart
    MERGE = "merge"  # a reply waits up to [ms] for the next one, and both leave in one segment
    DUPLICATE = "duplicate"  # every reply comes twice
    CLOSE_AFTER_REPLY = "close_after_reply"  # the connection is closed after each reply
    ONE_CLIENT = "one_client"  # only one connection is served
    EXCEPTION = "exception"  # every request is answered with exception [code]
    GATEWAY_0B = "gateway_0b"  # the gateway answers: target did not respond
    HALF_OPEN = "half_open"  # present connections stay open and dead; new ones too when [value] is 1
    SLOW_LINK = "slow_link"  # [bytes/s] in both directions together
    HALF_FRAME = "half_frame"  # the second half of every reply is lost


class LineFault(StrEnum):
    """A fault of a serial line, or of the gateway before it: all its units have it."""

    ECHO = "echo"  # what is sent comes back before the reply
    LINE_NOISE = "line_noise"  # [bytes] of noise before every reply
    BAD_CRC = "bad_crc"  # replies carry a wrong CRC
    GATEWAY_FROZEN = "gateway_frozen"  # the connection stays open, nothing passes


DEFAULTS: dict[WireFault, float] = {
    WireFault.LATE_REPLY: 500.0,
    WireFault.SPLIT: 5.0,
    WireFault.MERGE: 30.0,
    WireFault.EXCEPTION: 4.0,
    WireFault.HALF_OPEN: 0.0,
    WireFault.SLOW_LINK: 960.0,  # 9600 baud, ten bits a byte
}
LINE_DEFAULTS: dict[LineFault, float] = {LineFault.LINE_NOISE: 3.0}

Faults = dict[WireFault, float]


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes that leave ``after_s`` real seconds from now."""

    after_s: float
    data: bytes


def pieces(frame: bytes, request_size: int, faults: Faults, noise: Noise) -> list[Piece]:
    """Turn a good reply frame (MBAP header and PDU) into what the faulty wire delivers, and when."""
    if WireFault.NO_REPLY in faults:
        return []
    frame = spoil(frame, faults, noise)
    delay_s = faults.get(WireFault.LATE_REPLY, 0.0) / 1000
    if WireFault.SLOW_LINK in faults:
        delay_s += (request_size + len(frame)) / faults[WireFault.SLOW_LINK]
    if WireFault.SPLIT in faults:
        gap_s = faults[WireFault.SPLIT] / 1000
        # The cuts fall inside the header, between header and PDU, and inside the PDU: the three a reader gets wrong.
        cuts = [0, 3, 7, min(9, len(frame) - 1), len(frame)]
        sent = [Piece(delay_s + n * gap_s, frame[a:b]) for n, (a, b) in enumerate(pairwise(cuts))]
    else:
        sent = [Piece(delay_s, frame)]
    if WireFault.DUPLICATE in faults:
        sent += [Piece(sent[-1].after_s + piece.after_s - delay_s, piece.data) for piece in sent]
    return sent


def spoil(frame: bytes, faults: Faults, noise: Noise) -> bytes:
    """Make one frame wrong, whatever its timing."""
    spoilt = bytearray(frame)
    function = frame[7]
    if WireFault.SHORT_REPLY in faults and function in {3, 4} and frame[8] > 2:
        del spoilt[-2:]
        spoilt[8] -= 2
        spoilt[4:6] = (len(spoilt) - 6).to_bytes(2)
    if WireFault.WRONG_ECHO in faults and function in WRITES:
        spoilt[-1] ^= 1
    if WireFault.WRONG_TRANSACTION in faults:
        spoilt[0:2] = ((int.from_bytes(frame[0:2]) + 1) & 0xFFFF).to_bytes(2)
    if WireFault.WRONG_UNIT in faults:
        spoilt[6] = (frame[6] + 1) & 0xFF
    if WireFault.WRONG_FUNCTION in faults:
        spoilt[7] = 4 if function == 3 else 3
    if WireFault.GARBAGE in faults:
        return noise.bytes(8 + noise.bits() % 16)
    return bytes(spoilt[: len(spoilt) // 2] if WireFault.HALF_FRAME in faults else spoilt)

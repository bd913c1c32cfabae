"""The ORv3 update mailbox (registers 0x300 to 0x310 and up) in front of two flash slots. Pure: time is an argument.

What rackmon's scripts show of makers' devices: a key unlocks, a word enters the boot mode (which erases), packets are
answered by a status, a check and a way out. The two slots are ours: the new image goes where the running one is not, and one
word of flash, written in one go when the check has passed and the boot mode is left, says which slot starts.

An image is ``IMAGE_MAGIC``, its revision (8 characters), the length of its body (4 bytes), the CRC-32 of revision, length and
body, and the body; whatever follows fills up the last packet.
"""

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from firmware_sim.parts.registers import Answer

UNLOCK, BOOT_MODE, STATUS, VERIFY, EXIT, DATA = 0x300, 0x301, 0x302, 0x303, 0x304, 0x310
MOST_WORDS = 0x30
"""A packet is at most 96 bytes."""
KEY = 0x55AA
BOOT_WORD = 0xA5A5
IMAGE_MAGIC = b"RKFW"
HEADER_BYTES = len(IMAGE_MAGIC) + 8 + 4 + 4
ERASED = 0xFF


class Status(IntEnum):
    """What the status register says."""

    NORMAL = 0x00
    BOOT = 0x01
    ACCEPTED = 0x06
    WAIT = 0x18
    FAILED = 0x55
    SUCCESS = 0xAA


def build_image(revision: str, body: bytes) -> bytes:
    """Return an image that the device accepts. Raises ValueError for a revision of more than 8 characters."""
    if not 1 <= len(revision) <= 8:
        raise ValueError(f"the revision {revision!r} has {len(revision)} characters: allowed are 1 to 8")
    name = revision.encode("ascii").ljust(8)
    length = struct.pack(">I", len(body))
    return IMAGE_MAGIC + name + length + struct.pack(">I", zlib.crc32(name + length + body)) + body


def revision_in(flash: bytes) -> str | None:
    """Return the revision of a whole image; None when it is not whole."""
    if len(flash) < HEADER_BYTES or not flash.startswith(IMAGE_MAGIC):
        return None
    name, length = flash[4:12], flash[12:16]
    size, crc = struct.unpack(">II", flash[12:20])
    body = flash[HEADER_BYTES : HEADER_BYTES + size]
    if len(body) != size or zlib.crc32(name + length + body) != crc:
        return None
    return name.decode("ascii").strip()


@dataclass(frozen=True, slots=True)
class MailboxTimes:
    """How long each takes, s; nothing else is answered meanwhile."""

    erase_s: float = 10.0
    packet_s: float = 0.02
    check_s: float = 3.0
    restart_s: float = 5.0


class Mailbox:
    """Two slots and the registers in front of them.

    slots    the flash: each whatever was written into it
    active   the slot that starts next: the flash word
    running  revision that runs; None: without power, starting, or nothing can start
    bytes_written, cuts   for tests and facts: what the flash took, how often the power went
    """

    def __init__(
        self, image: bytes, block_bytes: int = 64, boot_word: int = BOOT_WORD, times: MailboxTimes | None = None
    ) -> None:
        if revision_in(image) is None:
            raise ValueError("the first image is not whole: build_image makes one")
        self.block_bytes = block_bytes
        self.boot_word = boot_word
        self.times = times or MailboxTimes()
        self.slots = [image, b""]
        self.active = 0
        self.running: str | None = None
        self.bytes_written = 0
        self.cuts = 0
        self._powered = False
        self._reset()
        self.power_on(0.0)

    def _reset(self) -> None:
        self._unlocked = self._boot_mode = False
        self._status = Status.NORMAL
        self._then: tuple[float, str] | None = None
        self._checked = False

    @property
    def answers(self) -> bool:
        """Whether the device speaks at all: it has power, and is not starting."""
        return self._powered and (self.running is not None)

    @property
    def updating(self) -> bool:
        """In its boot mode: monitoring is suppressed."""
        return self._boot_mode

    @property
    def status(self) -> Status:
        return self._status

    def power_on(self, now_s: float) -> None:
        """Start: the active slot when it is whole, else the other."""
        if not self._powered:
            self._powered = True
            self._then = (now_s + self.times.restart_s, "start")
            self.step(now_s)

    def power_off(self) -> None:
        """Lose everything but the flash. What was being erased or written stays as far as it came."""
        self.cuts += self._powered
        self._powered, self.running = False, None
        self._reset()

    def step(self, now_s: float) -> None:
        """Finish what is due."""
        if self._then is None or now_s < self._then[0]:
            return
        what, self._then = self._then[1], None
        if what == "start":
            self._start()
        elif what == "erase":
            self.slots[1 - self.active] = b""
            self._status = Status.BOOT
        elif what == "check":
            self._checked = revision_in(self.slots[1 - self.active]) is not None
            self._status = Status.SUCCESS if self._checked else Status.FAILED
        else:
            self._status = Status.ACCEPTED

    def _start(self) -> None:
        for slot in (self.active, 1 - self.active):
            self.running = revision_in(self.slots[slot])
            if self.running is not None:
                self.active = slot
                return

    def owns(self, address: int, count: int = 1) -> bool:
        """Whether a span of holding registers is the mailbox's."""
        last = address + count - 1
        return address >= UNLOCK and (last <= EXIT or (address >= DATA and last < DATA + MOST_WORDS))

    def read(self, address: int, count: int) -> tuple[int, ...]:
        """Return registers: all but the status read as zero."""
        return tuple(int(self._status) if address + n == STATUS else 0 for n in range(count))

    def write(self, address: int, values: Sequence[int], now_s: float) -> Answer:
        """Accept or refuse one write. Raises nothing: a device that does not speak is the wire's matter."""
        self.step(now_s)
        if address == DATA:
            return self._packet(values, now_s)
        if len(values) != 1:
            return Answer.ILLEGAL_ADDRESS
        value = values[0]
        if address == UNLOCK:
            self._unlocked = value == KEY
            return Answer.OK if self._unlocked else Answer.ILLEGAL_VALUE
        if not self._unlocked or address not in {BOOT_MODE, VERIFY, EXIT}:
            return Answer.ILLEGAL_ADDRESS
        if self._then is not None:
            return Answer.BUSY
        if value != (self.boot_word if address == BOOT_MODE else KEY):
            return Answer.ILLEGAL_VALUE
        if address == BOOT_MODE:
            self._enter(now_s)
            return Answer.OK
        if not self._boot_mode:
            return Answer.ILLEGAL_ADDRESS
        if address == VERIFY:
            self._status, self._then = Status.WAIT, (now_s + self.times.check_s, "check")
        else:
            self._leave(now_s)
        return Answer.OK

    def _enter(self, now_s: float) -> None:
        """Half of the slot is gone at once: a cut while erasing leaves neither the old spare image nor an empty slot."""
        spare = 1 - self.active
        self.slots[spare] = (
            bytes([ERASED]) * (len(self.slots[spare]) // 2) + self.slots[spare][len(self.slots[spare]) // 2 :]
        )
        self._boot_mode, self._checked, self._status = True, False, Status.WAIT
        self._then = (now_s + self.times.erase_s, "erase")

    def _packet(self, values: Sequence[int], now_s: float) -> Answer:
        if not self._boot_mode:
            return Answer.ILLEGAL_ADDRESS
        if self._then is not None:
            return Answer.BUSY
        if 2 * len(values) != self.block_bytes:
            self._status = Status.FAILED
            return Answer.ILLEGAL_VALUE
        self.slots[1 - self.active] += b"".join(value.to_bytes(2, "big") for value in values)
        self.bytes_written += self.block_bytes
        self._checked = False
        self._status, self._then = Status.WAIT, (now_s + self.times.packet_s, "packet")
        return Answer.OK

    def _leave(self, now_s: float) -> None:
        """One word of flash decides; then the device starts anew."""
        if self._checked:
            self.active = 1 - self.active
        self.running = None
        self._reset()
        self._then = (now_s + self.times.restart_s, "start")

"""The ORv3 update mailbox: its registers, its words, and how a maker's differs from another's."""

from dataclasses import dataclass

UNLOCK, BOOT_MODE, STATUS, VERIFY, EXIT, DATA = 0x300, 0x301, 0x302, 0x303, 0x304, 0x310
KEY = 0x55AA
"""Unlocks, starts the check, and leaves the boot mode."""

NORMAL, BOOT, ACCEPTED, WAIT, FAILED, SUCCESS = 0x00, 0x01, 0x06, 0x18, 0x55, 0xAA
"""What the status register says."""

FILLER = 0xFF


@dataclass(frozen=True, slots=True)
class Mailbox:
    """How a maker's mailbox differs from another's.

    block_bytes       payload of one packet
    boot_word         what the boot-mode register wants
    two_slots         the running image stays whole until the new one is checked
    revision_address, revision_words   where the device says what it runs, ASCII;  revision_input: in an input register
    erase_s, accept_s, verify_s, restart_s   the longest each may take
    poll_s            between two looks at the status
    """

    block_bytes: int = 64
    boot_word: int = 0xA5A5
    two_slots: bool = True
    revision_address: int = 48
    revision_words: int = 4
    revision_input: bool = False
    erase_s: float = 30.0
    accept_s: float = 10.0
    verify_s: float = 60.0
    restart_s: float = 90.0
    poll_s: float = 0.5


def block_words(image: bytes, box: Mailbox, block: int) -> tuple[int, ...]:
    """Return one packet as registers, the last one filled up."""
    part = image[block * box.block_bytes : (block + 1) * box.block_bytes].ljust(box.block_bytes, bytes([FILLER]))
    return tuple(int.from_bytes(part[n : n + 2], "big") for n in range(0, len(part), 2))


def text_of(words: tuple[int, ...]) -> str:
    """Return registers as ASCII text, without the blanks and zeros around it."""
    raw = b"".join(word.to_bytes(2, "big") for word in words)
    return raw.decode("ascii", "replace").strip("\0 ")

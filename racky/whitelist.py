"""The one gate before every write of Racky: outputs of its shelves, and the mailbox of a device that is updated. Nothing else.

Racky never touches a valve or the permit: whatever a decision asks for, what is not on this list does not leave.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from racky.core.firmware import Order
from racky.core.mailbox import BOOT_MODE, DATA, EXIT, UNLOCK, VERIFY

MOST_BLOCK_WORDS = 48
"""Longest packet of the mailbox: 96 bytes."""
MAILBOX = frozenset({UNLOCK, BOOT_MODE, VERIFY, EXIT})


@dataclass(slots=True)
class Whitelist:
    """What may be written.

    outputs   the shelves' commands, by tag;  updated  devices that the lifecycle may update
    stopped   how much was not let pass
    """

    outputs: Collection[str]
    updated: Collection[str]
    armed: bool
    stopped: int = field(default=0)

    def passed(self, writes: Mapping[str, float]) -> dict[str, float]:
        """Return what of ``writes`` may leave: commands of shelves, on or off."""
        good = {
            tag: value for tag, value in writes.items() if self.armed and tag in self.outputs and value in (0.0, 1.0)
        }
        self.stopped += len(writes) - len(good)
        return good

    def order(self, order: Order) -> bool:
        """Whether one order of an update may leave. Reading is free; writing is the mailbox alone."""
        if order.device not in self.updated:
            allowed = False
        elif not order.words:
            allowed = order.count > 0
        elif order.address == DATA:
            allowed = self.armed and len(order.words) <= MOST_BLOCK_WORDS
        else:
            allowed = self.armed and order.address in MAILBOX and len(order.words) == 1
        self.stopped += not allowed
        return allowed

"""``valvey shutdown --safe``: DARK, then planned isolation, then the end of the process. Needs no broker.

A plain stop leaves the rack as found; only this, asked for explicitly by SIGUSR1, takes it out of service.
"""

import asyncio
import uuid

from fieldkit.inbox import Inbox
from valvey.core.chart import State
from valvey.core.requests import Request
from valvey.scan import Guard

LEAVABLE = frozenset({State.ISOLATED, State.DRAINED, State.ESD})
"""States in which the rack stands without power and shut."""
CLIENT = "safe-shutdown"


class SafeShutdown:
    """Asks for the two steps once, and knows when the rack may be left."""

    def __init__(self, inbox: Inbox[Request], guard: Guard) -> None:
        self._inbox, self._guard = inbox, guard
        self.asked = asyncio.Event()

    def ask(self) -> None:
        """Called on the signal; asking again changes nothing."""
        if self.asked.is_set():
            return
        self.asked.set()
        for name in ("dark", "isolate"):
            self._inbox.put(
                Request(str(uuid.uuid4()), name, "operator", CLIENT, by="signal SIGUSR1", why="safe shutdown")
            )

    async def finished(self) -> None:
        """Return when it was asked for and the rack may be left."""
        await self.asked.wait()
        while self._guard.memory.state not in LEAVABLE:  # ruff: ignore[async-busy-wait] - the guard has no event for this
            await asyncio.sleep(0.1)

"""A message to oneself: the only proof that the path through broker and ACL works, both ways.

A broker answers a forbidden subscription with success and a forbidden publish with an acknowledgement.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Canary:
    """What to send and when to worry.

    payload     makes the bytes of the n-th one; the same bytes have to come back
    patience_s  after which the path is not proven
    """

    topic: str
    payload: Callable[[int], bytes]
    period_s: float = 10.0
    patience_s: float = 5.0


class CanaryWatch:
    """Sends canaries while connected and knows how long the last one took.

    told  called with True or False when the path becomes proven or stops being so
    """

    def __init__(self, canary: Canary, told: Callable[[bool], None]) -> None:
        self.canary = canary
        self.round_trip_s: float | None = None
        """None while the path is not proven."""
        self._told = told
        self._proven: bool | None = None
        self._number = 0
        self._song = b""
        self._sent_s = 0.0
        self._heard = asyncio.Event()

    async def run(self, send: Callable[[bytes], None]) -> None:
        """Send one every period, until cancelled."""
        try:
            while True:
                self._number += 1
                self._song, self._sent_s = self.canary.payload(self._number), asyncio.get_running_loop().time()
                self._heard.clear()
                send(self._song)
                with suppress(TimeoutError):
                    async with asyncio.timeout(self.canary.patience_s):
                        await self._heard.wait()
                if not self._heard.is_set():
                    self.round_trip_s = None
                if self._heard.is_set() is not self._proven:
                    self._proven = self._heard.is_set()
                    self._told(self._proven)
                await asyncio.sleep(self.canary.period_s)
        finally:
            self.round_trip_s = None

    def heard(self, topic: str, payload: bytes) -> bool:
        """Whether this message is the canary on its way back; a strange one on its topic is nobody's request either."""
        if topic != self.canary.topic:
            return False
        if payload == self._song:
            self.round_trip_s = asyncio.get_running_loop().time() - self._sent_s
            self._heard.set()
        return True

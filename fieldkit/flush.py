"""Writing a packet when it is made, instead of asking the loop first whether the socket would take it.

The usual way (watch the socket, be called, write, stop watching) costs three system calls more per packet, and its
watch, arriving late through a thread-safe call, can land on a socket that has been closed or is another by then.
"""

import asyncio
import threading
from collections.abc import Callable
from typing import Any, Protocol


class Writer(Protocol):
    """The part of an MQTT client that writes."""

    def loop_write(self) -> Any: ...
    def want_write(self) -> bool: ...


class PromptWriter:
    """Callbacks for a client's "socket wants to be written" and "is written"; make it on the loop's thread.

    failed  called on the loop with what a write raised: the connection is lost
    """

    def __init__(self, failed: Callable[[Exception], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._failed = failed

    def wanted(self, client: Writer, _userdata: object, wire: Any) -> None:
        """A packet was made; called from the loop, or while connecting from another thread."""
        if threading.get_ident() == self._thread:
            self._loop.call_soon(self._write, client, wire)
        else:
            self._loop.call_soon_threadsafe(self._write, client, wire)

    def written(self, _client: Writer, _userdata: object, wire: Any) -> None:
        """All packets are out, or the socket is about to close."""
        if wire.fileno() >= 0:
            self._loop.remove_writer(wire.fileno())

    def _write(self, client: Writer, wire: Any) -> None:
        if wire.fileno() < 0:
            return
        try:
            client.loop_write()
        except (OSError, ValueError) as error:
            self._failed(error)
            return
        if wire.fileno() >= 0 and client.want_write():
            self._loop.add_writer(wire.fileno(), self._write, client, wire)

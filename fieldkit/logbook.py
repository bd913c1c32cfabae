"""Log lines from a thread of their own: whoever reads our stderr may stop reading, and no scan waits for that."""

import queue
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fieldkit.letters import plain

if TYPE_CHECKING:
    import structlog

MOST_WAITING = 2000
_RENAMED = {"event": "what"}
"""``event`` is the name of the log line itself."""


class Logbook:
    """Takes events with fields; drops and counts what does not fit."""

    def __init__(self, logger: "structlog.typing.FilteringBoundLogger") -> None:
        self._logger = logger
        self._queue: queue.Queue[tuple[str, str, dict[str, Any]] | None] = queue.Queue(MOST_WAITING)
        self._thread = threading.Thread(target=self._work, name="logbook", daemon=True)
        self.dropped = 0
        self._thread.start()

    def note(self, event: str, **fields: Any) -> None:
        self._put("info", event, fields)

    def warn(self, event: str, **fields: Any) -> None:
        self._put("warning", event, fields)

    def trouble(self, event: str, **fields: Any) -> None:
        self._put("error", event, fields)

    def fact(self, kind: str, fields: Mapping[str, Any], *, warn: bool) -> None:
        """Log one thing that a core has told."""
        told = {_RENAMED.get(name, name): plain(value) for name, value in fields.items()}
        self._put("warning" if warn else "info", str(kind), told)

    def close(self, grace_s: float = 0.5) -> None:
        """Write what waits, bounded."""
        try:
            self._queue.put_nowait(None)
        except queue.Full:
            return
        self._thread.join(grace_s)

    def _put(self, level: str, event: str, fields: dict[str, Any]) -> None:
        try:
            self._queue.put_nowait((level, event, fields))
        except queue.Full:
            self.dropped += 1

    def _work(self) -> None:
        while (item := self._queue.get()) is not None:
            level, event, fields = item
            getattr(self._logger, level)(event, **fields)

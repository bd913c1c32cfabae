"""Whether a connection is worth keeping, and when to make the next one. Pure: time is an argument."""

from fieldkit.backoff import Backoff

RECONNECT_FLOOR_S = 0.25
GATEWAY_SILENT_S = 10.0
"""A gateway that reaches none of its units for so long may heal on a new connection (seen in the field)."""


class LinkHealth:
    """Counts answers, not connections: a peer can stay connected and silent for ever.

    silent_s  no unit answering for so long ends the connection
    cap_s     longest wait between attempts
    """

    def __init__(self, silent_s: float, cap_s: float) -> None:
        self.backoff = Backoff(RECONNECT_FLOOR_S, cap_s)
        self._silent_s = silent_s
        self._since_s = 0.0
        self._alive: set[int] = set()
        self.productive = False
        """Something was answered on this connection; then its end is no reason to wait before the next."""

    def connected(self, now_s: float) -> None:
        self._since_s = now_s
        self.productive = False

    def disconnected(self, now_s: float) -> None:
        if not self.productive:
            self.backoff.failed(now_s)

    def answered(self, unit: int, now_s: float) -> None:
        self._since_s = now_s
        self.productive = True
        self._alive.add(unit)
        self.backoff.succeeded()

    def unanswered(self, unit: int, now_s: float) -> str:
        """Return why to give the connection up, or "". One silent unit is no reason while others answer."""
        self._alive.discard(unit)
        silent_s = now_s - self._since_s
        return f"silent for {silent_s:.1f} s" if not self._alive and silent_s >= self._silent_s else ""

    def nobody_there(self, now_s: float) -> str:
        """A gateway said that the unit did not answer it; return why to give the connection up, or ""."""
        silent_s = now_s - self._since_s
        return f"the gateway reached no unit for {silent_s:.0f} s" if silent_s >= GATEWAY_SILENT_S else ""

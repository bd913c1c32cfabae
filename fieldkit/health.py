"""Whether a connection is worth keeping, and when to make the next one. Pure: time is an argument."""

from fieldkit.backoff import Backoff

RECONNECT_FLOOR_S = 0.25
REST_AFTER = 2
"""Unanswered requests in a row after which a unit rests, when another unit of the link answered in between."""
FIRST_REST_FACTOR = 20.0
"""The first rest is so many times as long as the miss before it kept the link busy: two lost replies may be noise."""
REST_FACTOR = 200.0
"""Later ones: a silent unit costs the others one part in so many of the link's time (0.5 %)."""
REST_MOST_S = 60.0
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
        """When somebody last answered, or the connection was made."""
        self._answered_s = float("-inf")
        self._alive: set[int] = set()
        self._fallen = 0
        self._misses: dict[int, tuple[int, float]] = {}
        self._rests_until_s: dict[int, float] = {}
        self.productive = False
        """Something was answered on this connection; then its end is no reason to wait before the next."""

    def connected(self, now_s: float) -> None:
        self._since_s = now_s
        self.productive = False
        self._fallen = 0
        self._rests_until_s.clear()

    def disconnected(self, now_s: float) -> None:
        if not self.productive:
            self.backoff.failed(now_s)

    def answered(self, unit: int, now_s: float) -> None:
        if now_s - self._since_s >= self._silent_s:
            self._rests_until_s.clear()  # the whole link was silent: that says nothing of single units
        self._since_s = self._answered_s = now_s
        self.productive = True
        self._alive.add(unit)
        self._fallen = 0
        self._misses.pop(unit, None)
        self._rests_until_s.pop(unit, None)
        self.backoff.succeeded()

    def missed(self, unit: int, now_s: float, cost_s: float, after: int = REST_AFTER) -> None:
        """Note that a unit did not answer, which kept the link busy for ``cost_s``; it rests ``after`` so many in a row."""
        count, last_s = self._misses.get(unit, (0, now_s))
        self._misses[unit] = count + 1, now_s
        if count + 1 >= after and self._answered_s > last_s:
            factor = REST_FACTOR if unit in self._rests_until_s else FIRST_REST_FACTOR
            self._rests_until_s[unit] = now_s + min(factor * cost_s, REST_MOST_S)

    @property
    def stands_still(self) -> bool:
        """Two units fell silent one after the other, and nobody has answered since."""
        return self._fallen > 1

    def heard(self, unit: int, now_s: float) -> None:
        """Note a late answer: the unit is slow and not gone, and the link does not stand still."""
        self._since_s = now_s
        self._alive.add(unit)
        self._fallen = 0
        self._misses.pop(unit, None)
        self._rests_until_s.pop(unit, None)

    def rests_s(self, unit: int, now_s: float) -> float:
        """Seconds for which a silent unit is left alone so that the others keep their time; 0 or less when it is not."""
        until_s = self._rests_until_s.get(unit)
        return 0.0 if until_s is None else until_s - now_s

    def unanswered(self, unit: int, now_s: float, cost_s: float) -> str:
        """Return why to give the connection up, or "". One silent unit is no reason while others answer.

        Two units that fall silent one after the other, with nobody answering between, are a gateway that stands still.
        """
        self._fallen += unit in self._alive
        self._alive.discard(unit)
        self.missed(unit, now_s, cost_s)
        silent_s = now_s - self._since_s
        if self.stands_still or (not self._alive and silent_s >= self._silent_s):
            return f"silent for {silent_s:.1f} s"
        return ""

    def nobody_there(self, now_s: float) -> str:
        """A gateway said that the unit did not answer it; return why to give the connection up, or ""."""
        silent_s = now_s - self._since_s
        return f"the gateway reached no unit for {silent_s:.0f} s" if silent_s >= GATEWAY_SILENT_S else ""

"""What went wrong on the links: one log line a minute for each that had trouble, and silence for the others."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, fields

from fieldkit.bus import LinkCounters

PERIOD_S = 60.0
WELL = frozenset({"requests", "good", "connects"})
"""Counters that rise while all is well."""


class LinkNews:
    """Tells what has risen since the last time.

    counters  link -> its counters, which go on counting
    tell      called with the link's name and the counters that rose, requests and good replies beside them
    """

    def __init__(self, counters: Mapping[str, LinkCounters], tell: Callable[[str, dict[str, int]], None]) -> None:
        self._counters, self._tell = counters, tell
        self._before: dict[str, LinkCounters] = {}

    def look(self) -> None:
        """Tell of each link on which something failed since the last look."""
        for name, counters in self._counters.items():
            before = self._before.get(name, LinkCounters())
            rose = {
                field.name: by
                for field in fields(counters)
                if (by := getattr(counters, field.name) - getattr(before, field.name))
            }
            self._before[name] = LinkCounters(**asdict(counters))
            if rose.keys() - WELL:
                self._tell(name, rose)

    async def run(self, sleep: Callable[[float], Awaitable[None]]) -> None:
        """Look for ever."""
        while True:
            await sleep(PERIOD_S)
            self.look()

"""How long a device takes to answer: a histogram, and the timeout that follows from it. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

TIMEOUT_LEAST_S, TIMEOUT_MOST_S = 0.1, 5.0


@dataclass(slots=True)
class Delays:
    """Times from a request to its whole reply, in seconds, and how many requests had none."""

    seconds: list[float] = field(default_factory=list)
    unanswered: int = 0

    def document(self) -> dict[str, object]:
        rows = sorted(self.seconds)
        return {
            "answered": len(rows),
            "unanswered": self.unanswered,
            "least_s": rows[0] if rows else None,
            "p50_s": quantile(rows, 0.5),
            "p95_s": quantile(rows, 0.95),
            "p99_s": quantile(rows, 0.99),
            "most_s": rows[-1] if rows else None,
            "histogram": [{"to_s": edge, "count": count} for edge, count in histogram(rows)],
            "timeout_s": timeout_s(rows),
        }


def quantile(rising: Sequence[float], part: float) -> float | None:
    """Return the nearest-rank quantile; None of nothing."""
    return rising[max(0, math.ceil(part * len(rising)) - 1)] if rising else None


def histogram(seconds: Sequence[float]) -> list[tuple[float, int]]:
    """Return ``(upper edge in s, count)`` by powers of two of a millisecond, from the first that holds any to the last."""
    counts: dict[int, int] = {}
    for value in seconds:
        power = 0 if value <= 0.001 else math.ceil(math.log2(value / 0.001) - 1e-9)
        counts[power] = counts.get(power, 0) + 1
    if not counts:
        return []
    return [(0.001 * 2.0**power, counts.get(power, 0)) for power in range(min(counts), max(counts) + 1)]


def timeout_s(rising: Sequence[float]) -> float | None:
    """Return a timeout for ``buses``: four times the slowest reply, up to the next 50 ms, within 0.1..5 s."""
    if not rising:
        return None
    steps = math.ceil(4 * rising[-1] / 0.05 - 1e-9)
    return round(min(TIMEOUT_MOST_S, max(TIMEOUT_LEAST_S, steps * 0.05)), 2)

"""Which registers of a range a device has, and how many it gives in one read: found by bisection. Pure.

The explorers are generators: they yield reads (``Block``) and are sent whether the device answered each. A device that
answers illegal addresses with zeros has no holes to be found.
"""

from collections.abc import Generator
from dataclasses import dataclass

MOST_ASKED = 2000
"""Reads after which an exploration ends, unfinished: five minutes on a slow line."""


@dataclass(frozen=True, slots=True)
class Block:
    """One read."""

    address: int
    count: int


Explorer = Generator[Block, bool, "Extent"]


@dataclass(frozen=True, slots=True)
class Extent:
    """What was found in ``first``..``last``.

    runs     readable stretches, in order, as far as the exploration came
    done_to  the last address that was looked at
    most     registers of the longest read that was answered; 0: none
    refused  the shortest read that was refused although it lies inside a run; None: none was, ``most`` may be more
    """

    first: int
    last: int
    done_to: int
    runs: tuple[Block, ...]
    most: int
    refused: int | None

    @property
    def holes(self) -> tuple[Block, ...]:
        """Stretches without registers between the runs, and at both ends of what was looked at."""
        out: list[Block] = []
        at = self.first
        for run in self.runs:
            if run.address > at:
                out.append(Block(at, run.address - at))
            at = run.address + run.count
        if at <= self.done_to:
            out.append(Block(at, self.done_to + 1 - at))
        return tuple(out)

    def document(self) -> dict[str, object]:
        return {
            "first": self.first,
            "last": self.last,
            "done_to": self.done_to,
            "runs": [{"address": run.address, "count": run.count} for run in self.runs],
            "holes": [{"address": hole.address, "count": hole.count} for hole in self.holes],
            "most": self.most,
            "refused": self.refused,
        }


def explore(first: int, last: int, most: int, most_asked: int = MOST_ASKED) -> Explorer:
    """Explore ``first``..``last``; ``most`` is the longest read that the protocol allows for this table."""
    if not 0 <= first <= last <= 0xFFFF or not 1 <= most <= 2000 or most_asked < 1:
        raise ValueError(f"{first}..{last} by {most}: allowed 0..65535, rising, reads of 1..2000")
    have: list[bool] = []
    asked, longest, step = 0, 0, most
    waiting: list[Block] = []
    at = first
    while (waiting or at <= last) and asked < most_asked:
        if not waiting:
            waiting = [Block(at, min(step, last + 1 - at))]
        block = waiting.pop()
        answered = yield block
        asked += 1
        if answered:
            have += [True] * block.count
            longest = max(longest, block.count)
        elif block.count == 1:
            have.append(False)
        else:
            half = block.count // 2
            waiting += [Block(block.address + half, block.count - half), Block(block.address, half)]
        at = block.address + block.count if not waiting else at
        if not waiting:
            step = min(most, max(2 * longest, 8))
    runs = _runs(first, have)
    refused = None
    widest = max(runs, key=lambda run: run.count, default=None)
    if widest is not None:
        longest, refused = yield from _limit(widest, longest, most, most_asked)
    return Extent(first, last, first + len(have) - 1, runs, longest, refused)  # ruff: ignore[return-in-generator] - to yield from


def _limit(run: Block, answered: int, most: int, most_asked: int) -> Generator[Block, bool, tuple[int, int | None]]:
    """Return the longest read that ``run`` answers and the shortest that it refuses, None when it refuses none."""
    low, high = min(answered, run.count), min(run.count, most) + 1
    refused: int | None = None
    asked = 0
    if (yield Block(run.address, high - 1)):
        return max(answered, high - 1), None
    refused = high = high - 1
    while high - low > 1 and asked < most_asked:
        middle = (low + high) // 2
        asked += 1
        if (yield Block(run.address, middle)):
            low = middle
        else:
            refused = high = middle
    return low, refused  # ruff: ignore[return-in-generator] - to yield from


def _runs(first: int, have: list[bool]) -> tuple[Block, ...]:
    out: list[Block] = []
    for address, there in enumerate(have, first):
        if not there:
            continue
        if out and out[-1].address + out[-1].count == address:
            out[-1] = Block(out[-1].address, out[-1].count + 1)
        else:
            out.append(Block(address, 1))
    return tuple(out)

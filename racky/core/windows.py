"""What was seen during a while, kept small: medians of blocks, extremes, and how often a reading was lost.

The level of a reading is the median of its blocks' medians: half of a block's samples, or half of the blocks, may be nonsense
without moving it far. How far the blocks lie apart says whether the reading stood still.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import median

SAMPLE_S = 1.0
BLOCK_S = 10.0
LEAST_BLOCKS = 3
LOST_SHARE = 0.05
"""A reading that was lost more often than this has no level."""
EARLY_S = 0.01


@dataclass(frozen=True, slots=True)
class Window:
    """A while.

    at_s      when the last sample was taken, None before the first;  block_s  when the present block began
    present   samples of the present block, by tag;  blocks  medians of the blocks before
    least, most   by tag, over all samples;  lost  how many samples had no value
    """

    began_s: float
    at_s: float | None = None
    block_s: float = 0.0
    samples: int = 0
    present: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    blocks: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    least: Mapping[str, float] = field(default_factory=dict)
    most: Mapping[str, float] = field(default_factory=dict)
    lost: Mapping[str, int] = field(default_factory=dict)

    def level(self, tag: str) -> float | None:
        """The level of ``tag``; None when it was lost too often or seen too shortly."""
        blocks = self.blocks.get(tag, ())
        if len(blocks) < LEAST_BLOCKS or self.lost.get(tag, 0) > LOST_SHARE * self.samples:
            return None
        return median(blocks)

    def spread(self, tag: str) -> float | None:
        """How far the blocks' medians lie apart."""
        return None if self.level(tag) is None else max(self.blocks[tag]) - min(self.blocks[tag])

    def highest(self, tag: str) -> float | None:
        """The greatest single sample; None when the reading was lost too often."""
        return None if self.level(tag) is None else self.most[tag]

    @property
    def good_share(self) -> float:
        """Share of all samples that had a value, over all tags."""
        total = self.samples * len(self.lost)
        return 1.0 - sum(self.lost.values()) / total if total else 0.0


def due(window: Window, now_s: float) -> bool:
    return window.at_s is None or now_s - window.at_s >= SAMPLE_S - EARLY_S


def seen(window: Window, values: Mapping[str, float | None], now_s: float) -> Window:
    """Return the window with one more sample of each tag, when one is due; None: cannot be believed."""
    if not due(window, now_s):
        return window
    if window.at_s is None:
        window = replace(window, block_s=now_s)
    present, least, most = dict(window.present), dict(window.least), dict(window.most)
    lost = dict(window.lost)
    for tag, value in values.items():
        lost[tag] = lost.get(tag, 0) + (value is None)
        if value is not None:
            present[tag] = (*present.get(tag, ()), value)
            least[tag], most[tag] = min(least.get(tag, value), value), max(most.get(tag, value), value)
    window = replace(
        window, at_s=now_s, samples=window.samples + 1, present=present, least=least, most=most, lost=lost
    )  # fmt: skip
    return _closed(window, now_s) if now_s - window.block_s >= BLOCK_S - SAMPLE_S - EARLY_S else window


def _closed(window: Window, now_s: float) -> Window:
    blocks = dict(window.blocks)
    for tag, samples in window.present.items():
        blocks[tag] = (*blocks.get(tag, ()), median(samples))
    return replace(window, block_s=now_s + SAMPLE_S, present={}, blocks=blocks)

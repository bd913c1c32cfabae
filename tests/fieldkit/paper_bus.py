"""A bus on paper: registers in a dict, failures on demand, no socket and no time."""

from collections.abc import Sequence

from fieldkit.bus import LinkCounters, LinkError
from fieldkit.reading import Reason


class PaperBus:
    """Answers from ``registers``; ``fail`` maps an address (or None for all) to the LinkError to raise."""

    def __init__(self, registers: dict[tuple[str, int], int] | None = None) -> None:
        self.name = "paper"
        self.counters = LinkCounters()
        self.registers = registers if registers is not None else {}
        self.fail: dict[int | None, LinkError] = {}
        self.holes: set[int] = set()
        self.asked: list[tuple[str, int, int]] = []
        self.wrote: list[tuple[str, int, list[int]]] = []
        self.multiple = 0
        self.clamp: int | None = None
        self.closed = False

    async def read(self, unit: int, table: str, address: int, count: int) -> bytes:
        self.asked.append((table, address, count))
        error = self.fail.get(None) or self.fail.get(address)
        if error is not None:
            raise error
        if self.holes.intersection(range(address, address + count)):
            raise LinkError(Reason.EXCEPTION, f"unit {unit}: exception 2", 2)
        words = [self.registers.get((table, n), 0) for n in range(address, address + count)]
        if table in {"coil", "discrete"}:
            return sum(bit << n for n, bit in enumerate(words)).to_bytes((count + 7) // 8, "little")
        return b"".join(word.to_bytes(2, "big") for word in words)

    async def write(self, unit: int, table: str, address: int, words: Sequence[int], *, multiple: bool = False) -> None:
        if None in self.fail:
            raise self.fail[None]
        self.multiple += multiple
        self.wrote.append((table, address, list(words)))
        for n, word in enumerate(words):
            self.registers[table, address + n] = word if self.clamp is None else min(word, self.clamp)

    async def close(self) -> None:
        self.closed = True

"""One row of the table of causes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from racky.core.causes import Blocks, Classification, Found
from racky.core.view import View


@dataclass(frozen=True, slots=True)
class CauseRow:
    """One kind of cause. The order of the table is the order of roots: what matters most stands first.

    id        stable, in operators' words; a ``*`` at its end is the name of a tag, device or place
    explains  ids of rows below that stand behind this one while it is active; ``*`` at an end matches every name
    found     yields each that is there now
    on_s      how long it must be there before it counts
    """

    id: str
    text: str
    action: str
    blocks: frozenset[Blocks]
    classifications: frozenset[Classification]
    explains: tuple[str, ...]
    found: Callable[[View], Iterable[Found]]
    on_s: float = 0.0

    def covers(self, name: str) -> bool:
        """Whether this cause explains the cause ``name``."""
        return any(name == one or (one.endswith("*") and name.startswith(one[:-1])) for one in self.explains)

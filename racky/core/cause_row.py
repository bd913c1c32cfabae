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

    def covers(self, found: Found, name: str) -> bool:
        """Whether the cause that ``found`` tells of explains the cause ``name``."""
        return any(matches(one, name) for one in (*self.explains, *found.explains))


def matches(pattern: str, name: str) -> bool:
    """``pattern`` is an id, or its beginning and a ``*``."""
    return name == pattern or (pattern.endswith("*") and name.startswith(pattern[:-1]))

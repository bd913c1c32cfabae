"""The table of causes: what can be wrong with a rack, in the order in which it matters, and what stands behind it."""

from collections.abc import Iterable

from racky.core.cause_row import CauseRow
from racky.core.causes import Blocks, Classification, Found
from racky.core.view import View

B, C = Blocks, Classification


def valvey_silent(view: View) -> Iterable[Found]:
    if not view.sight.hears_valvey:
        yield Found(evidence="nothing was heard of Valvey")


ROWS: tuple[CauseRow, ...] = (
    CauseRow(
        "valvey-silent",
        "the rack's Valvey is not heard",
        "look whether it runs, and at the broker",
        frozenset(B),
        frozenset({C.PREVENT_ALLOCATIONS}),
        (),
        valvey_silent,
    ),
)

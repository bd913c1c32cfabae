"""What the lifecycle says of the rack's health: a rack that was not admitted is not well, whatever its readings say."""

from collections.abc import Iterable

from racky.core.causes import Found
from racky.core.lifecycle_chart import State
from racky.core.view import View

ELSEWHERE = frozenset({State.PRODUCTION, State.QUARANTINED, State.MAINTENANCE})
"""States that are well, or told by another row: maintenance is told by itself."""


def quarantined(view: View) -> Iterable[Found]:
    """A gate, a trip or a person refused the rack: by what."""
    life = view.life
    if view.setup.plan is None or life.state is not State.QUARANTINED:
        return
    refused = [one for one in life.report if not one.ok]
    seen = "; ".join(f"{one.text}: {one.detail}" for one in refused if one.detail != "not reached")
    yield Found(evidence=seen or life.remark, since_s=life.since_s)


def not_admitted(view: View) -> Iterable[Found]:
    """On its way, retired, or never asked for."""
    life = view.life
    if view.setup.plan is None or life.state in ELSEWHERE:
        return
    remark = f": {life.remark}" if life.remark else ""
    yield Found(evidence=f"{life.state}, {life.step}{remark}", since_s=life.since_s)

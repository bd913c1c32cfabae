"""What a person should be told about the flow control, by the ids of ``alarm_rows``. Tells; never acts."""

from collections.abc import Iterable

from valvey.core.flow_control import troubles
from valvey.core.flow_state import Bound, Trouble, tuning_for
from valvey.core.steering import SILENT_S
from valvey.core.view import View

NAMES: dict[Trouble, str] = {
    Trouble.NO_POWER: "power-unknown",
    Trouble.NO_NEED: "need-unknown",
    Trouble.NO_HEADER: "header-unknown",
    Trouble.SHORT: "flow-short",
    Trouble.BRANCH: "branch-changed",
    Trouble.HUNTING: "flow-hunting",
    Trouble.HELD: "flow-held",
}
_HEADER = frozenset({"PT-201", "PT-202"})


def conditions(view: View) -> Iterable[str]:
    """Yield the id of every alarm of the flow control whose condition holds now; none while it has not FCV-101."""
    steering = view.memory.steering
    if steering is None or not steering.active:
        return
    for trouble in troubles(steering.control, tuning_for(view.limits)):
        unknown = trouble is Trouble.NO_HEADER and not view.limits.max_age_s.keys() >= _HEADER
        if not unknown:  # a rack that has not these transmitters is not told for ever that they are missing
            yield NAMES[trouble]
    if steering.bound is Bound.CEILING:
        yield "flow-ceiling"
    if steering.ceiling is not None and view.now_s - steering.ceiling.heard_s > SILENT_S:
        yield "ceiling-stale"

"""Stopping the pumps: only where the site allows it, only when a person asks, only once every rack is proven dark.

Racks are asked to go dark through their own doors (``asking``). What is not proven in time is given up, and the pumps
run on: that is the safer end. Starting them again is for people at the CDU.
"""

from dataclasses import replace

from fieldkit.errors import Refusal
from valvey.core.chart import State
from valvey.core.loop.facts import LoopFact, LoopFactKind
from valvey.core.loop.memory import LoopMemory, Stop
from valvey.core.loop.seen import RUN_TAG, LoopView

HOLD_S = 2.0
"""Every rack must be proven dark for this long before the pumps are stopped."""
DEAD_SHARE = 0.02
"""Of its rating: below it a rack's busbar is dead (SIF-13)."""
_MAY_BE_LIT = frozenset({State.STARTUP, State.OPENING, State.FLOWING, State.UNLOADING})


def dark(view: LoopView, name: str) -> bool:
    """Whether a rack is proven dark by what it shows now: its chart, its contactor and its busbar."""
    permit, busbar_kw = view.point(name, "XI-101"), view.point(name, "ET-101")
    if view.rack(name).state in _MAY_BE_LIT or permit is None or busbar_kw is None:
        return False
    return permit < 0.5 and busbar_kw <= DEAD_SHARE * view.limits.racks[name].rating_kw


def lit(view: LoopView) -> tuple[str, ...]:
    """The racks that are not proven dark."""
    return tuple(name for name in view.limits.racks if not dark(view, name))


def refusal(view: LoopView) -> Refusal | None:
    """Why the pumps may not be stopped now. A rack that could not be proven dark is found before any goes dark."""
    if not view.limits.pump_stop:
        return Refusal(
            "policy", "this site never lets its pumps be stopped", "'pump_stop: when_all_dark' in the loop's file"
        )
    if not view.limits.armed:
        return Refusal("disarmed", "the coordinator is disarmed", "'armed: true' in the loop's file, and a restart")
    if view.others:
        return Refusal("two_coordinators", "another coordinator of this loop is on the bus", "stop one of the two")
    if view.cdu(RUN_TAG) is None:
        return Refusal("cdu_unknown", f"{RUN_TAG} of the CDU cannot be believed", "a CDU that answers")
    if view.stopped() or view.memory.stop is not None:
        return Refusal("stopping", "the pumps are stopped, or about to be", "nothing more")
    unseen = [name for name in view.limits.racks if not (view.rack(name).online and view.fresh(name))]
    if unseen:
        return Refusal(
            "not_seen", f"nothing is heard of {', '.join(unseen)}: it cannot be proven dark", "its telemetry"
        )
    return None


def look(view: LoopView) -> tuple[LoopMemory, bool, list[LoopFact]]:
    """Return the memory, whether the pumps are to be stopped now, and the end of the request when it has come."""
    memory, stop = view.memory, view.memory.stop
    if stop is None:
        return memory, False, []
    left = lit(view)
    if view.stopped():
        return ended(memory, stop, "succeeded", "", view.now_s)
    if view.now_s - stop.since_s >= view.limits.stop_most_s:
        why = f"{', '.join(left)} not proven dark" if left else "the CDU did not take the stop"
        return ended(memory, stop, "failed", f"{why} in {view.limits.stop_most_s:.0f} s: the pumps run on", view.now_s)
    since_s = None if left else (view.now_s if stop.dark_since_s is None else stop.dark_since_s)
    memory = replace(memory, stop=replace(stop, dark_since_s=since_s))
    return memory, since_s is not None and view.now_s - since_s >= HOLD_S, []


def ended(
    memory: LoopMemory, stop: Stop, status: str, reason: str, now_s: float
) -> tuple[LoopMemory, bool, list[LoopFact]]:
    """Return what ``look`` does at the end of a stop."""
    fields = {
        "id": stop.id, "request": "stop_pumps", "client": stop.client, "role": stop.role, "by": stop.by, "why": stop.why,
        "status": status, "reason": reason, "took_s": round(now_s - stop.since_s, 1),
    }  # fmt: skip
    memory = replace(memory, stop=None, state_seq=memory.state_seq + 1)
    return memory, False, [LoopFact(LoopFactKind.ENDED, now_s, fields)]

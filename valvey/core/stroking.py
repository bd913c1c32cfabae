"""The partial stroke of XV-101 or XV-102 in service: one command that the valve controller times itself. Pure.

Valvey writes one number, once. The device drops the valve's coil until its open limit breaks, energises it again, and says
whether the limit came back within 1.5 s; nobody has to be alive for the valve to come back. Meanwhile that valve's open
limit and coil are no demand (SIF-12, OPEN_LOST), for ``STROKE_S`` and not longer: what is not back then trips as ever.
"""

from collections.abc import Iterable

from fieldkit.frozen import replace
from valvey.core.chart import State
from valvey.core.memory import INTERRUPTED, STROKE_S, Memory
from valvey.core.view import View

#: What the register of the valve controller means by each valve.
NUMBERS = {"101": 1.0, "102": 2.0}
PASSED = "passed"
#: How a test ended, for people.
OUTCOMES: dict[str, str] = {
    PASSED: "it left its open limit and came back",
    INTERRUPTED: "the rack left FLOWING during the test",
    "not_begun": "nothing was seen of it: the valve controller did not begin",
    "not_left": "the valve did not leave its open limit",
    "not_back": "the valve did not come back to its open limit in time",
    "failed": "the valve controller says that it failed",
}
RUNNING_TAG, PASSED_TAG, FAILED_TAG = "XKI-101", "XKP-101", "XKF-101"
TAGS = ("XK-101", RUNNING_TAG, PASSED_TAG, FAILED_TAG)


def follow(view: View) -> Memory:
    """Return the memory after what this scan shows of a test that runs."""
    memory = view.memory
    stroke = memory.stroke
    if stroke is None or stroke.outcome is not None:
        return memory
    if memory.state is not State.FLOWING:
        return replace(memory, stroke=replace(stroke, outcome=INTERRUPTED))
    is_open, runs = view.on(f"ZSO-{stroke.valve}"), view.on(RUNNING_TAG)
    left = stroke.left or is_open is False
    begun = stroke.begun or left or runs is True
    outcome = None
    if begun and runs is False and is_open is True:
        outcome = _told(view)
    if outcome is None and view.now_s - stroke.since_s >= STROKE_S:
        outcome = "not_begun" if not begun else "not_left" if not left else "failed" if is_open is True else "not_back"
    if (left, begun, outcome) == (stroke.left, stroke.begun, stroke.outcome):
        return memory
    return replace(memory, stroke=replace(stroke, left=left, begun=begun, outcome=outcome))


def _told(view: View) -> str | None:
    """The verdict of the device, which alone sees every millisecond of it; None while it has none."""
    if view.on(FAILED_TAG) is True:
        return "failed"
    return PASSED if view.on(PASSED_TAG) is True else None


def conditions(memory: Memory) -> Iterable[str]:
    """Yield the alarm of a valve that failed its last test."""
    if memory.stroke is not None and memory.stroke.outcome not in {None, PASSED, INTERRUPTED}:
        yield "stroke-failed"

"""Completed scans for tests of those who are told of them."""

from collections.abc import Mapping

from fieldkit.reading import Reading
from valvey.core.facts import Fact
from valvey.core.gate import NO_WRITE, Outputs
from valvey.core.judging import Judged
from valvey.core.leasing import Answer, Ask
from valvey.core.memory import Memory
from valvey.core.requests import Request
from valvey.core.step import Scan
from valvey.done import Done

NOTHING_JUDGED = Judged({}, {}, (), (), (), (), demand=False)


def done_of(
    before: Memory,
    after: Memory,
    now_s: float,
    *facts: Fact,
    readings: Mapping[str, Reading] | None = None,
    requests: tuple[Request, ...] = (),
    outputs: Outputs = NO_WRITE,
    asks: tuple[Ask, ...] = (),
    answers: tuple[Answer, ...] = (),
) -> Done:
    scan = Scan(after, outputs, facts, NOTHING_JUDGED, asks)
    return Done(0, now_s, before, readings if readings is not None else {}, scan, requests, {}, {}, answers)

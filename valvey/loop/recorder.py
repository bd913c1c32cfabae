"""The coordinator's record: every ask, answer, request, write and fact in the journal, and around each occasion all it saw.

An occasion is what somebody may want to understand later: a loop event, work that moves the CDU's set-point, flow that is
short, a stop of the pumps, a lease that lapsed, an epoch that was raised.
"""

from math import ceil
from typing import Any

from fieldkit.journal import Journal
from fieldkit.letters import plain
from fieldkit.record import Record
from valvey.core.leasing import Act
from valvey.core.loop.facts import LoopFactKind
from valvey.core.loop.limits import LoopLimits
from valvey.episodes import Episodes
from valvey.loop import recording
from valvey.loop.recording import Part
from valvey.loop.turns import Turn

BEFORE_S, AFTER_S = 60.0, 60.0
LONGEST_S = 1800.0
K = LoopFactKind
OCCASIONS = frozenset({
    K.EVENT, K.HOLD, K.RELEASED, K.TAKEN_BACK, K.SHORT, K.ENOUGH, K.STOP, K.ENDED, K.ASKED, K.LAPSED, K.EPOCH,
})  # fmt: skip


class LoopRecorder(Record):
    """Writes one loop's record.

    started  fields of the first line
    """

    def __init__(
        self, journal: Journal, loop: str, limits: LoopLimits, *, period_s: float, started: dict[str, Any]
    ) -> None:
        super().__init__(journal, started)
        self._episodes = Episodes[Part](
            self.note,
            lambda first: recording.head(loop, limits, first),
            recording.pack,
            before=ceil(BEFORE_S / (period_s * recording.ROWS_A_PART)) + 1,  # the newest is not full yet
            after_s=AFTER_S,
            longest_s=LONGEST_S,
        )

    def __call__(self, turn: Turn) -> None:
        """Take one step."""
        scan = turn.scan
        for asked, reply in zip(turn.inputs.asks, scan.replies, strict=True):
            if asked.act is not Act.RENEW or not reply.granted:  # a renewal that went well is no news
                fields = {name: plain(getattr(asked, name)) for name in asked.__slots__}
                answer = {
                    name: plain(getattr(reply, name)) for name in ("granted", "id", "epoch", "reason", "would_allow")
                }
                self.note("lease", {**fields, "answer": answer})
        self.note_step(turn.inputs.requests, scan.facts)
        for one in scan.asked:
            self.note("asked_of_rack", {"rack": one.rack, "request": one.request, "why": one.why})
        for point, value in scan.writes.items():
            self.note("written", {"point": point, "value": value, "acknowledged": turn.acknowledged})
        for point, value in scan.stopped.items():
            self.note("stopped_by_the_gate", {"point": point, "value": value})
        self._episodes.part(Part).turns.append(turn)
        goes_on = self._episodes.recording and (scan.memory.hold is not None or scan.memory.stop is not None)
        self._episodes.kept(turn.now_s, goes_on or any(fact.kind in OCCASIONS for fact in scan.facts))

    def close(self) -> None:
        """Write what belongs to a recording that has not come to its end."""
        self._episodes.close()
        super().close()

"""The coordinator's record: every ask, answer, request, write and fact in the journal, and around each occasion all it saw.

An occasion is what somebody may want to understand later: a loop event, work that moves the CDU's set-point, flow that is
short, a stop of the pumps, a lease that lapsed, an epoch that was raised.
"""

from math import ceil
from typing import Any

from fieldkit.errors import Refusal
from fieldkit.journal import Journal
from fieldkit.letters import plain
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


class LoopRecorder:
    """Writes one loop's record.

    started  fields of the first line
    """

    def __init__(
        self, journal: Journal, loop: str, limits: LoopLimits, *, period_s: float, started: dict[str, Any]
    ) -> None:
        self._journal = journal
        self._episodes = Episodes[Part](
            self._note,
            lambda first: recording.head(loop, limits, first),
            recording.pack,
            before=ceil(BEFORE_S / (period_s * recording.ROWS_A_PART)) + 1,  # the newest is not full yet
            after_s=AFTER_S,
            longest_s=LONGEST_S,
        )
        self._note("started", started)

    def __call__(self, turn: Turn) -> None:
        """Take one step."""
        scan = turn.scan
        for asked, reply in zip(turn.inputs.asks, scan.replies, strict=True):
            if asked.act is not Act.RENEW or not reply.granted:  # a renewal that went well is no news
                fields = {name: plain(getattr(asked, name)) for name in asked.__slots__}
                answer = {
                    name: plain(getattr(reply, name)) for name in ("granted", "id", "epoch", "reason", "would_allow")
                }
                self._note("lease", {**fields, "answer": answer})
        for request in turn.inputs.requests:
            self._note("request", {name: plain(getattr(request, name)) for name in request.__slots__})
        for fact in scan.facts:
            self._note("fact", {"fact": str(fact.kind), "at_s": fact.at_s, "fields": plain(fact.fields)})
        for one in scan.asked:
            self._note("asked_of_rack", {"rack": one.rack, "request": one.request, "why": one.why})
        for point, value in scan.writes.items():
            self._note("written", {"point": point, "value": value, "acknowledged": turn.acknowledged})
        for point, value in scan.stopped.items():
            self._note("stopped_by_the_gate", {"point": point, "value": value})
        self._episodes.part(Part).turns.append(turn)
        goes_on = self._episodes.recording and (scan.memory.hold is not None or scan.memory.stop is not None)
        self._episodes.kept(turn.now_s, goes_on or any(fact.kind in OCCASIONS for fact in scan.facts))

    def refused_at_the_door(self, client: str, refusal: Refusal) -> None:
        """A message that was no request."""
        fields = {"client": client, "id": refusal.about, "code": refusal.code, "reason": refusal.reason}
        self._note("refused_at_the_door", fields)

    def close(self) -> None:
        """Write what belongs to a recording that has not come to its end."""
        self._episodes.close()
        self._note("stopped", {})

    def _note(self, kind: str, fields: dict[str, Any]) -> None:
        self._journal.note_nowait(kind, fields)

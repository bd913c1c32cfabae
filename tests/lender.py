"""A loop's coordinator for one rack on paper: the real rules of leases, what a test wants refused, and a bus that may fail."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from fieldkit.errors import Refusal
from tests.valvey.core.loop.paper import limits
from valvey.core.leasing import Act, Answer, Ask
from valvey.core.loop import leases
from valvey.core.loop.leases import Asked, Judges
from valvey.core.loop.memory import Held, LoopMemory

RACK, LOOP = "r3", "cdu1"


@dataclass
class Lender:
    """Answers in the rack's next scan.

    refuses  what is refused now, and what would allow it; None = every work is granted
    alive    False: it hears nothing
    late     answers are kept back until ``release``
    """

    refuses: tuple[str, str] | None = None
    alive: bool = True
    late: bool = False
    memory: LoopMemory = field(default_factory=lambda: LoopMemory(epoch=7, begun_s=0.0))
    heard: list[Ask] = field(default_factory=list)
    kept: list[Answer] = field(default_factory=list)

    @property
    def held(self) -> Held | None:
        return self.memory.leases.get(RACK)

    def __call__(self, asks: Iterable[Ask], now_s: float) -> list[Answer]:
        if not self.alive:
            return []
        self.memory, _ = leases.free_overdue(replace(self.memory, now_s=now_s), limits(), now_s)
        asked = list(asks)
        self.heard += asked
        self.memory, replies, _ = leases.hear(
            self.memory,
            [Asked(RACK, one.ask_id, one.act, one.work, one.grant_id, one.epoch) for one in asked],
            Judges(
                begin=lambda _memory, _rack, _work: None if self.refuses is None else Refusal("no", *self.refuses),
                go_on=lambda _memory, _rack, _work: None,
            ),
            LOOP,
            limits(),
            now_s,
        )
        answers = [
            Answer(one.ask_id, one.granted, one.id, one.epoch, one.ttl_s, one.work, one.reason, one.would_allow)
            for one in replies
        ]
        if self.late:
            self.kept += answers
            return []
        return answers

    def restart(self, now_s: float) -> None:
        """Another process: a higher epoch, what was on record, and nothing granted for a while."""
        self.memory = leases.begin(self.memory, now_s)

    def forget(self) -> None:
        """Whatever was granted is not known any more."""
        self.memory = replace(self.memory, leases={})

    def said(self) -> list[tuple[Act, str]]:
        return [(one.act, one.work) for one in self.heard]

"""What Racky asks of its Valvey: from asks of a step to requests of contract 1 in role ``racky``, and back from responses.

A wish that is not answered yet is not sent again; what nobody answers in time comes back as expired.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from uuid import uuid4

from fieldkit import envelope
from fieldkit.letters import line
from fieldkit.topics import Daemon, Kind, Role, topic
from racky.core.ask import Ask
from racky.core.sight import AskTold

ANSWER_S = 10.0
"""A request that nothing came back of in this time is given up; Valvey answers within a scan or two."""
MOST_OPEN = 64


@dataclass(slots=True)
class _Open:
    key: str
    sent_s: float
    heard: bool = False


class Asker:
    """Asks one rack's Valvey. ``client``: our name in its topics, the user that the broker knows us by."""

    def __init__(self, site: str, rack: str, client: str, *, new_id: Callable[[], str] = lambda: str(uuid4())) -> None:
        self._topic = str(topic(site, rack, Daemon.VALVEY, Kind.REQUEST, Role.RACKY, client))
        self._by, self._new_id = client, new_id
        self._open: dict[str, _Open] = {}
        self._told: list[AskTold] = []

    def send(self, asks: Iterable[Ask], now_s: float) -> list[tuple[str, envelope.Request]]:
        """Return what is to be sent for the asks of one step."""
        waiting = {one.key for one in self._open.values()}
        out = []
        for ask in asks:
            if ask.key in waiting or len(self._open) >= MOST_OPEN:
                continue
            request_id = self._new_id()
            self._open[request_id] = _Open(ask.key, now_s)
            waiting.add(ask.key)
            request = envelope.Request(
                v=1, id=request_id, request=ask.request, args=dict(ask.args), by=self._by, why=line(ask.why) or None,
                expect_seq=ask.expect_seq,
            )  # fmt: skip
            out.append((self._topic, request))
        return out

    def heard(self, response: envelope.Response, now_s: float) -> None:
        """Take one response; that of a request that is not ours, or is over, says nothing."""
        one = self._open.get(response.id or "")
        if one is None:
            return
        one.heard = True
        told = AskTold(
            one.key, response.status, now_s, response.reason or "", response.would_allow or "", response.step,
            response.percent, response.proof or {},
        )  # fmt: skip
        self._told.append(told)
        if told.ended:
            del self._open[response.id or ""]

    def take(self, now_s: float) -> tuple[AskTold, ...]:
        """Return what came back since the last look, with what did not come back in time."""
        for request_id, one in list(self._open.items()):
            if not one.heard and now_s - one.sent_s >= ANSWER_S:
                self._told.append(AskTold(one.key, "expired", now_s, f"no answer in {ANSWER_S:g} s"))
                del self._open[request_id]
        told, self._told = tuple(self._told), []
        return told

    def forget(self) -> None:
        """Valvey has started anew: what was under way there has its end in the state that it tells."""
        self._open = {name: one for name, one in self._open.items() if not one.heard}

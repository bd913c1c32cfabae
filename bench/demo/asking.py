"""Asks racks for planned work at their own door (contract 1), as a person at a console would, and follows it to its end."""

import asyncio
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bench.demo.listener import Listener
from bench.demo.site import SITE
from fieldkit.topics import Daemon, Kind, topic

CLIENT = "demo"
ENDS = frozenset({"refused", "succeeded", "failed", "cancelled", "expired"})
#: Refusals that time alone may lift: the state moved on, the coordinator grants it later, a valve is still on its way.
AGAIN = frozenset({"expect_seq", "granted", "drain_shut", "proven_shut", "throttled"})
AGAIN_S, AGAIN_MOST_S = 5.0, 120.0


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of one request. ``took_s`` in simulated seconds; ``steps`` as its progress named them."""

    request: str
    status: str
    code: str | None
    reason: str | None
    took_s: float
    steps: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.status == "succeeded"


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a request stands."""

    rack: str
    request: str
    step: str
    percent: float
    eta_s: float | None


@dataclass
class Asker:
    """Asks one rack after the other. ``now_s`` is simulated time; ``told`` is called with each progress."""

    bus: Listener
    speed: float
    now_s: Callable[[], float]
    told: Callable[[Progress | None], None]
    ended: list[Ended] = field(default_factory=list)

    async def ask(
        self,
        rack: str,
        request: str,
        why: str,
        *,
        role: str = "operator",
        daemon: Daemon = Daemon.VALVEY,
        within_s: float,
        **args: Any,
    ) -> Ended:
        """Ask, and return the end; 'late' when there was none within ``within_s`` simulated seconds.

        A request that was refused for a reason that time lifts is asked again, with the state as it is then.
        """
        begun_s, refusals, steps = self.now_s(), list[str](), list[str]()
        while True:
            ident = await self._send(daemon, rack, request, role, why, args)
            response = await self._follow(rack, request, ident, begun_s + within_s, steps)
            took_s = self.now_s() - begun_s
            if response is None:
                done = Ended(request, "late", None, f"no end within {within_s:g} s", took_s)
                break
            code, reason = response.get("code"), response.get("reason")
            if response["status"] == "refused" and code in AGAIN and took_s < AGAIN_MOST_S:
                refusals.append(f"{code}: {reason}")
                await asyncio.sleep(AGAIN_S / self.speed)
                continue
            done = Ended(request, response["status"], code, reason, took_s)
            break
        done = Ended(done.request, done.status, done.code, done.reason, done.took_s, tuple(steps), tuple(refusals))
        self.ended.append(done)
        self.told(None)
        return done

    async def _send(self, daemon: Daemon, rack: str, request: str, role: str, why: str, args: dict[str, Any]) -> str:
        ident = str(uuid.uuid4())
        nodes = self.bus.racks if daemon is Daemon.VALVEY else self.bus.rackies
        seq = nodes[rack].state.get("state_seq")
        body = {"v": 1, "id": ident, "request": request, "args": args, "by": "demo", "why": why, "expect_seq": seq}
        where = topic(SITE, rack, daemon, Kind.REQUEST, role, CLIENT)
        await self.bus.publish(str(where), json.dumps(body).encode())
        return ident

    async def _follow(
        self, rack: str, request: str, ident: str, until_s: float, steps: list[str]
    ) -> dict[str, Any] | None:
        """Tell each progress; return the response that ends the request, None when time is over."""
        seen = 0
        while True:
            for response in self.bus.responses.get(ident, [])[seen:]:
                seen += 1
                if response["status"] in ENDS:
                    return response
                step = response.get("step")
                if step is not None and (not steps or steps[-1] != step):
                    steps.append(step)
                if response["status"] == "progress":
                    self.told(Progress(rack, request, step or "", response["percent"], response.get("eta_s")))
            left_s = (until_s - self.now_s()) / self.speed
            if left_s <= 0.0:
                return None
            await self.bus.wait_for(self._more(ident, seen), min(left_s, 1.0))

    def _more(self, ident: str, seen: int) -> Callable[[], bool]:
        return lambda: len(self.bus.responses.get(ident, [])) > seen

"""What people left standing, looked at in every scan: bypasses that end, and the lock-out key."""

from fieldkit.frozen import replace
from valvey.core.chart import State
from valvey.core.facts import Fact, FactKind
from valvey.core.memory import Lock, Memory
from valvey.core.view import View

#: A bypass warns so long before its end.
WARNINGS_S = (900.0, 300.0, 60.0)
#: States in which the rack stands shut, so that a lock may begin.
LOCKABLE = frozenset({State.ISOLATED, State.DRAINED, State.ESD})
KEY = "HS-102"


def expire_bypasses(memory: Memory, now_s: float) -> tuple[Memory, list[Fact]]:
    """Return the memory without the bypasses that have ended, and a fact for each that ends or is about to."""
    facts = []
    for bypass in memory.bypasses:
        left_s, was_s = bypass.until_s - now_s, bypass.until_s - memory.now_s
        if left_s <= 0.0:
            facts.append(
                Fact(FactKind.UNBYPASS, now_s, {"name": bypass.name, "by": bypass.by, "why": "its time is over"})
            )
        elif any(left_s <= warning_s < was_s for warning_s in WARNINGS_S):
            facts.append(
                Fact(FactKind.BYPASS_ENDING, now_s, {"name": bypass.name, "by": bypass.by, "left_s": round(left_s)})
            )
    left = tuple(bypass for bypass in memory.bypasses if bypass.until_s > now_s)
    if len(left) != len(memory.bypasses):
        memory = replace(memory, bypasses=left, state_seq=memory.state_seq + 1)
    return memory, facts


def key_turned(view: View) -> bool:
    """Whether somebody has turned the lock-out key. In a rack that does not stand shut it is no lock yet; nothing opens by it."""
    return view.on(KEY) is True


def turn_key(view: View) -> tuple[Memory, list[Fact]]:
    """Return the memory with HS-102's lock, once the key is turned in a rack that stands shut; a supervisor removes it."""
    memory = view.memory
    if memory.state not in LOCKABLE or not key_turned(view) or any(lock.owner == KEY for lock in memory.locks):
        return memory, []
    lock = Lock(KEY, "the lock-out key is turned", view.now_s)
    fact = Fact(FactKind.LOCK, view.now_s, {"owner": KEY, "by": KEY, "client": "", "why": lock.why})
    return replace(memory, locks=(*memory.locks, lock), state_seq=memory.state_seq + 1), [fact]

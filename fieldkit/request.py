"""A request as a daemon's core hears it, the answer to it, and what every daemon refuses in the same words.

What may be asked, when, and what it does stands in each daemon's own table.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import Any

from fieldkit.errors import Refusal

ENGINEERS = frozenset({"engineer", "safety", "supervisor"})
STAFF = ENGINEERS | {"operator"}
EVERYBODY = STAFF | {"coordinator", "racky", "integration"}
"""All roles that may ask for anything that acts."""


class Kind(StrEnum):
    """SAFER is never refused for time, sequence or a repeated id; OPENING needs the present ``state_seq``."""

    SAFER = "SAFER"
    NOTE = "NOTE"
    OPENING = "OPENING"


@dataclass(frozen=True, slots=True)
class Request:
    """One request as the desk hands it over: schema, size and the retained flag are already judged.

    role, client  from the topic, bound by the broker's access list
    expired       True or False by the wall clock; None when no synchronised clock can say
    """

    id: str
    name: str
    role: str
    client: str
    args: Mapping[str, Any] = field(default_factory=dict)
    by: str = ""
    why: str = ""
    expect_seq: int | None = None
    expired: bool | None = False

    @property
    def who(self) -> str:
        return self.by or self.client


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer once given to a request id; the same id gets the same answer and no second act."""

    id: str
    status: str
    code: str
    reason: str
    allow: str


def accepted(request: Request, reason: str = "") -> Answered:
    return Answered(request.id, "accepted", "ok", reason, "")


def refused(request: Request, code: str, reason: str, allow: str) -> Answered:
    return Answered(request.id, "refused", code, reason, allow)


def refused_as(request: Request, refusal: Refusal) -> Answered:
    return refused(request, refusal.code, refusal.reason, refusal.would_allow)


@dataclass(frozen=True, slots=True)
class Arg:
    """One argument: its Python types after JSON, whether it must be given, and the bounds of a number."""

    types: tuple[type, ...]
    needed: bool = True
    low: float = -inf
    high: float = inf


TEXT, FLAG, LIST = Arg((str,)), Arg((bool,), needed=False), Arg((list,))


def number(low: float, high: float, *, needed: bool = True) -> Arg:
    return Arg((int, float), needed, low, high)


_WORDS: dict[type, str] = {
    str: "a text", bool: "true or false", list: "a list", int: "a number", float: "a number",
}  # fmt: skip


def unknown(request: Request, known: Iterable[str]) -> Refusal:
    """The refusal of a request that no table has."""
    return Refusal("unknown", f"there is no request '{request.name}'", f"one of: {', '.join(known)}")


def wrong_role(request: Request, roles: frozenset[str]) -> Refusal | None:
    if request.role in roles:
        return None
    reason = f"role '{request.role}' may not ask for '{request.name}'"
    return Refusal("role", reason, f"roles: {', '.join(sorted(roles))}")


def wrong_args(request: Request, known: Mapping[str, Arg]) -> Refusal | None:
    """What is wrong with the arguments, the first that is; an argument that is null counts as left out."""
    for name in request.args:
        if name not in known:
            allow = f"arguments of '{request.name}': {', '.join(known) or 'none'}"
            return Refusal("args", f"unknown argument '{name}'", allow)
    for name, arg in known.items():
        value = request.args.get(name)
        if value is None:
            if arg.needed:
                return Refusal("args", f"argument '{name}' is missing", f"'{request.name}' needs '{name}'")
            continue
        if not isinstance(value, arg.types) or (isinstance(value, bool) and bool not in arg.types):
            wanted = " or ".join(dict.fromkeys(_WORDS[one] for one in arg.types))
            return Refusal("args", f"argument '{name}' is not {wanted}", f"'{name}' is {wanted}")
        if isinstance(value, int | float) and not arg.low <= value <= arg.high:
            return Refusal("args", f"argument '{name}' is out of range", f"{arg.low:g} to {arg.high:g}")
    return None


def no_reason(request: Request) -> Refusal | None:
    if request.why.strip():
        return None
    return Refusal("why", f"'{request.name}' needs a reason", "a non-empty 'why'")


def untimely(request: Request, state_seq: int) -> Refusal | None:
    """Why it may not act now: it is too old, or was decided on another state of the rack than the present one."""
    if request.expired is None:
        allow = "a synchronised clock, or no 'expires_at'"
        return Refusal("clock", "no synchronised clock can judge its expiry", allow)
    if request.expired:
        return Refusal("expired", "it has expired or is dated in the future", "a fresh request within its expiry")
    if request.expect_seq != state_seq:
        reason = f"expect_seq is {request.expect_seq}, state_seq is {state_seq}"
        return Refusal("expect_seq", reason, f"look at the state, then ask with expect_seq {state_seq}")
    return None

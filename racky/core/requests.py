"""The request table: who may ask Racky for what, and what would allow it when it is refused."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fieldkit.request import ENGINEERS, EVERYBODY, FLAG, STAFF, TEXT, Arg, Kind, Request, number
from racky.core.memory import Phase
from racky.core.permissives import POWER_ON, RESET, Permissive
from racky.core.view import View

KW = number(0.0, 1e4)


def always_same(kind: Kind) -> Callable[[View, Request], Kind]:
    def same(_view: View, _request: Request) -> Kind:
        return kind

    return same


@dataclass(frozen=True, slots=True)
class RequestRow:
    """One request.

    kind         its class, which may depend on what it would do now
    permissives  what must hold, each with what would allow it
    goal         phases in which it has succeeded; empty = at once
    way          phases on the way to the goal; in any other it has failed
    """

    name: str
    kind: Callable[[View, Request], Kind]
    roles: frozenset[str]
    text: str
    permissives: tuple[Permissive, ...] = ()
    args: Mapping[str, Arg] = field(default_factory=dict)
    why: bool = False
    goal: frozenset[Phase] = frozenset()
    way: frozenset[Phase] = frozenset()


def _cap_kind(view: View, request: Request) -> Kind:
    """To lower a cap is safer; to raise one is not."""
    now, asked = view.memory.power.cap, request.args.get("kw")
    lower = isinstance(asked, int | float) and (now is None or asked <= now.kw) and "for_s" not in request.args
    return Kind.SAFER if lower else Kind.OPENING


P = Phase
SAFER, NOTE, OPENING = always_same(Kind.SAFER), always_same(Kind.NOTE), always_same(Kind.OPENING)

# fmt: off
ROWS: tuple[RequestRow, ...] = (
    RequestRow("power_off",     SAFER,     EVERYBODY,              "switch the shelves off in reverse order; 'now': all at once", args={"now": FLAG}, goal=frozenset({P.OFF}), way=frozenset({P.UNKNOWN, P.FALLING})),
    RequestRow("power_on",      OPENING,   STAFF | {"integration"}, "switch the shelves on, one after the other", POWER_ON, goal=frozenset({P.ON}), way=frozenset({P.RISING})),
    RequestRow("cap",           _cap_kind, EVERYBODY,              "a most of power for this rack; lowering it is safer, raising or ending it by itself is not", args={"kw": KW, "for_s": number(1.0, 30 * 86400.0, needed=False)}, why=True),
    RequestRow("uncap",         OPENING,   EVERYBODY,              "end the cap that was asked for", why=True),
    RequestRow("reset",         OPENING,   STAFF,                  "clear the second trip path once its cause is gone; switches nothing on", RESET, why=True),
    RequestRow("maintenance",   OPENING,   STAFF,                  "work at the rack: no jobs, no calls outside; trips act; ends by itself", args={"for_s": number(60.0, 7 * 86400.0)}, why=True),
    RequestRow("end_maintenance", OPENING, STAFF,                  "end the maintenance now", why=True),
    RequestRow("admit",         OPENING,   ENGINEERS,              "prove the rack, from where it was refused, and take it into production; Racky may ask Valvey to fill, test and open in this boot", why=True),
    RequestRow("quarantine",    SAFER,     STAFF,                  "no work for this rack; it is switched off in order"),
    RequestRow("discover",      OPENING,   ENGINEERS,              "forget what is known of the rack's devices, and look anew", why=True),
    RequestRow("retire",        OPENING,   ENGINEERS,              "take the rack out of service for good", why=True),
    RequestRow("ack",           NOTE,      STAFF,                  "acknowledge one of Racky's alarms", args={"alarm": TEXT}),
    RequestRow("shelve",        NOTE,      STAFF,                  "shelve one of Racky's alarms for a bounded time", args={"alarm": TEXT, "for_s": number(1.0, 28800.0)}, why=True),
    RequestRow("leak_evidence", NOTE,      frozenset({"racky", "integration"}), "a tray's own leak flag; it is handed to Valvey, which judges it", args={"tray": TEXT, "wet": Arg((bool,)), "for_s": number(1.0, 3600.0)}),
)
# fmt: on
REQUESTS: dict[str, RequestRow] = {row.name: row for row in ROWS}

"""Tray leak flags from IT: handed to Valvey, which judges them by its leak policy. Racky acts on none itself."""

from dataclasses import replace

from racky.core.ask import Ask
from racky.core.facts import Fact, FactKind
from racky.core.memory import Tray
from racky.core.view import View

AGAIN_S = 30.0
"""A flag that still counts as wet is handed over again after this, so that Valvey has it after a restart of its own."""


def told(view: View, tray: str, wet: bool, for_s: float) -> tuple[View, list[Fact]]:
    """Return the view after IT told one flag; a dry one ends it at once."""
    known = view.memory.trays.get(tray)
    was = known is not None and known.until_s > view.now_s
    now = Tray(view.now_s + for_s if wet else view.now_s, None if known is None or was is not wet else known.said_s)
    view = replace(view, memory=replace(view.memory, trays={**view.memory.trays, tray: now}))
    return view, [] if was is wet else [Fact(FactKind.EVIDENCE, view.now_s, {"tray": tray, "wet": wet})]


def forward(view: View) -> tuple[View, tuple[Ask, ...]]:
    """Return what to hand to Valvey now: a wet flag that is new or due again, and the end of one, once."""
    asks, trays = list[Ask](), dict[str, Tray]()
    for name, tray in view.memory.trays.items():
        wet = tray.until_s > view.now_s
        if not wet:
            asks.append(Ask(f"leak_evidence/{name}", "leak_evidence", f"tray {name} is dry again", _args(name, None)))
            continue
        due = tray.said_s is None or view.now_s - tray.said_s >= AGAIN_S
        if due:
            args = _args(name, tray.until_s - view.now_s)
            asks.append(Ask(f"leak_evidence/{name}", "leak_evidence", f"tray {name} reports liquid", args))
        trays[name] = replace(tray, said_s=view.now_s) if due else tray
    return replace(view, memory=replace(view.memory, trays=trays)), tuple(asks)


def _args(tray: str, for_s: float | None) -> dict[str, object]:
    return {"tray": tray, "wet": for_s is not None, "for_s": min(max(for_s or 1.0, 1.0), 3600.0)}

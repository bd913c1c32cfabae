"""One thing at a time asked of Valvey, until the field shows that it is done. Nothing here opens a valve: a person's ``admit``
of this boot does, and Valvey's own permissives.

What was asked before Racky was away may have been heard or not, so only levels count: the state that Valvey tells.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from racky.core.ask import Ask
from racky.core.life import Asking, Lifecycle
from racky.core.sight import AskTold
from racky.core.view import View

AGAIN = "somebody has to ask 'admit' again: the node has started anew, or something tripped"
GRACE_S = 5.0
"""So long after it accepted something, Valvey may not have begun it yet, or its state may not have come."""


@dataclass(frozen=True, slots=True)
class Asked:
    """``failed``: Valvey began it and gave it up, and why. ``done``: it accepted what has no end of its own."""

    life: Lifecycle
    asks: tuple[Ask, ...] = ()
    failed: str | None = None
    done: bool = False


def authorised(view: View) -> bool:
    """Whether somebody asked for this run in this boot of the node."""
    return bool(view.life.boot_id) and view.life.boot_id == view.memory.boot_id


def forgotten(life: Lifecycle, remark: str = "") -> Lifecycle:
    """The life with nothing asked."""
    return replace(life, asking=None, remark=remark)


def ask(view: View, request: str, way: frozenset[str], args: Mapping[str, Any] | None = None) -> Asked:
    """Return what comes of wanting ``request`` now. ``way``: states of Valvey on the way to its end; empty: it ends at once."""
    life, valvey, now_s = view.life, view.sight.valvey, view.now_s
    if not view.sight.hears_valvey:
        return Asked(replace(life, remark="Valvey is not heard"))
    asking = life.asking
    if asking is not None and asking.request == request:
        return _wait(view, asking, way, args or {})
    if valvey.state in way:
        return Asked(replace(life, remark=f"{valvey.state}, {valvey.step}"))
    if not authorised(view):
        return Asked(replace(life, remark=AGAIN))
    if now_s < life.quiet_s:
        return Asked(life)
    number = life.asked + 1
    asking = Asking(f"life-{life.run}-{number}", request, now_s)
    asked = replace(life, asked=number, asking=asking, remark=f"'{request}' is asked of Valvey")
    return Asked(asked, (_ask_of(view, asking, args or {}),))


def _ask_of(view: View, asking: Asking, args: Mapping[str, Any]) -> Ask:
    why = f"admission of {view.setup.rack}, asked by {view.life.by}: {view.life.why}"
    return Ask(asking.key, asking.request, why, args, view.sight.valvey.state_seq)


def _wait(view: View, asking: Asking, way: frozenset[str], args: Mapping[str, Any]) -> Asked:
    life, valvey = view.life, view.sight.valvey
    for told in view.sight.told:
        if told.key != asking.key:
            continue
        if told.status in {"refused", "expired"} and asking.accepted_s is None:
            return Asked(_later(view, told))
        if told.status in {"failed", "cancelled", "expired"}:
            return Asked(forgotten(life), failed=told.reason or f"'{asking.request}' was {told.status}")
        if asking.accepted_s is None and told.status != "progress":  # what waits for its lease tells that, too
            asking = replace(asking, accepted_s=view.now_s)
        if told.step is not None:
            percent = "" if told.percent is None else f" {told.percent:.0f} %"
            life = replace(life, remark=f"{asking.request}: {told.step}{percent}")
    life = replace(life, asking=asking)
    if asking.accepted_s is None:
        return Asked(life, (_ask_of(view, asking, args),))
    if not way:
        return Asked(forgotten(life), done=True)
    if valvey.state not in way and view.now_s - asking.accepted_s >= GRACE_S:
        why = valvey.failed or f"Valvey is in {valvey.state}"
        return Asked(forgotten(life), failed=f"'{asking.request}' was given up: {why}")
    return Asked(life)


def _later(view: View, told: AskTold) -> Lifecycle:
    """Refused, or nobody answered: asked again in a while, as long as the step may take."""
    allow = f" ({told.would_allow})" if told.would_allow else ""
    retry_s = 0.0 if view.setup.plan is None else view.setup.plan.times.retry
    life = forgotten(view.life, f"Valvey: {told.reason or told.status}{allow}")
    return replace(life, quiet_s=view.now_s + retry_s)

"""What a step of the lifecycle says it did."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from racky.core.ask import Ask
from racky.core.firmware import Order
from racky.core.inventory import Identity
from racky.core.life import Lifecycle, Run
from racky.core.plan import Plan
from racky.core.view import View

SLACK_S = 10.0
"""What is late by itself is late this much earlier than its step."""


@dataclass(frozen=True, slots=True)
class Did:
    """What a step did.

    ended   the step is done, whatever it found
    failed  the state cannot go on: its gates are judged with what is there; why, for people
    power   the shelves are wanted on or off; None: as they are
    """

    life: Lifecycle
    ended: bool = False
    failed: str | None = None
    asks: tuple[Ask, ...] = ()
    orders: tuple[Order, ...] = ()
    runs: tuple[Run, ...] = ()
    power: bool | None = None


Act = Callable[[View, Plan], Did]


def age_s(view: View) -> float:
    return view.now_s - view.life.step_s


def devices(view: View) -> dict[str, Identity]:
    """The devices as they say they are; a revision that an update has read back counts before they are read again."""
    found = dict(view.sight.identities)
    for device, revision in view.life.updated.items():
        if device in found:
            found[device] = replace(found[device], firmware=revision)
    return found

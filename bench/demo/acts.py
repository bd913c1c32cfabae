"""The acts of the demo, as a table."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.demo.listener import Listener
    from bench.demo.outcome import Outcome
    from bench.demo.screen import Screen
    from bench.demo.stage import Stage

    Play = Callable[[Stage, Listener, Screen], Awaitable[Outcome]]


@dataclass(frozen=True, slots=True)
class Act:
    """One act.

    speed        simulated seconds per second unless the user says otherwise: 1 where times are claimed
    coordinator  whether the loop's coordinator plays along
    module       where ``play`` is; imported when the act is played
    racks        in service
    newcomers    racks that stand on the header, dry and shut, and are set up while the act is played
    """

    number: str
    id: str
    title: str
    speed: float
    coordinator: bool
    module: str
    racks: int = 4
    newcomers: tuple[str, ...] = ()

    def play(self) -> "Play":
        play: Play = import_module(self.module).play
        return play


# fmt: off
_ROWS = (
    Act("1", "leak",     "a leak: one rack is shut off, its neighbours do not feel it",            1.0, False, "bench.demo.leak"),
    Act("2", "service",  "a service: one rack is isolated, drained, filled, tested and returned",  5.0, True,  "bench.demo.service"),
    Act("3", "shortage", "a pump trips: the flow that is left is shared by priority",              5.0, True,  "bench.demo.shortage"),
    Act("4", "admission", "a new rack is proven and admitted; one with a weak hose is refused",  5.0, True, "bench.demo.admission", racks=2, newcomers=("r05", "r06")),
)
# fmt: on
ACTS: dict[str, Act] = {act.number: act for act in _ROWS}

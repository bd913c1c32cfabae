"""Paper racks in the middle of a drain, a fill or a test."""

from dataclasses import replace
from typing import Any

from tests.plant import PaperRack, isolated
from valvey.core.chart import OUTPUTS, State, Step
from valvey.core.memory import Inventory, Work


def working(state: State, step: Step, limits: dict[str, Any] | None = None, **work: Any) -> PaperRack:
    """A healthy rack whose step begins now, its field as the step demands it: vented, or under 180 kPa in TESTING."""
    rack = isolated(**(limits or {}))
    rack.memory = replace(
        rack.memory, state=state, step=step, since_s=rack.now_s, step_since_s=rack.now_s, steady_since_s=None, tested=False,
        inventory=Inventory.FULL if state is State.TESTING else Inventory.PART, work=Work(rack.now_s, **work),
    )  # fmt: skip
    kpa = 180.0 if state is State.TESTING else 0.0
    rack.values |= {"PT-101": kpa, "PT-102": kpa, "PT-202": 150.0}
    demand = OUTPUTS[state, step]
    assert demand is not None
    rack.values |= {"ZSC-103": float(not demand.xv_103), "ZSC-104": float(not demand.xv_104)}
    if demand.xv_101:
        rack.values |= {"XY-101": 1.0, "ZSO-101": 1.0, "ZSC-101": 0.0, "ZT-101": 10.0, "FT-101": 20.0}
    return rack


def record(rack: PaperRack) -> Work:
    assert rack.memory.work is not None
    return rack.memory.work


def run(rack: PaperRack, for_s: float, dt_s: float = 0.5) -> PaperRack:
    """Scan in steps of ``dt_s`` until the time is over or the rack has left its state."""
    state = rack.state
    for _ in range(round(for_s / dt_s)):
        rack.scan(dt_s=dt_s)
        if rack.state is not state:
            break
    return rack


def takes_s(rack: PaperRack, most_s: float, dt_s: float = 0.1) -> float:
    """Seconds until the rack has left its present step: to ``dt_s`` in the first and the last 6 s, between to 0.5 s."""
    place, began_s = (rack.memory.state, rack.memory.step), rack.now_s
    while (rack.memory.state, rack.memory.step) == place:
        spent_s = rack.now_s - began_s
        assert spent_s <= most_s, f"still {place}"
        rack.scan(dt_s=0.5 if 6.0 < spent_s < most_s - 6.0 else dt_s)
    return rack.now_s - began_s


def place(rack: PaperRack) -> tuple[State, Step]:
    return rack.memory.state, rack.memory.step


def failed(rack: PaperRack) -> tuple[State, str | None]:
    return rack.memory.state, rack.memory.failed

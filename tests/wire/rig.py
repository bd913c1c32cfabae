"""What the tests of the protection stand on: racks in service, somebody on the bus, and what to say of their stamps."""

import random
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench import disks
from bench.bystander import Bystander
from bench.demands import LIMIT_MS, Case, round_of
from bench.demo.stage import SITE
from bench.latency import Figures
from bench.rig import RackPlan, Rig, Stamp
from tests.wire.broker import Broker, broker

COMMANDS = ("XV-101 command", "XV-102 command", "XV-103 command", "XV-104 command", "XS-101 command")
OUTPUTS = ("XY-101", "XY-102", "XY-103", "XY-104", "XSY-101")
"""The coils behind them, after all wiring."""
FEEDBACK = ("ZSO-101", "ZSC-101", "ZSO-102", "ZSC-102", "ZSC-103", "ZSC-104", "XI-101")
FCV_DEAD_BAND_PCT = 0.5
"""Of the simulated motor valve: a command that differs by less does not move it."""


@contextmanager
def racks_in_service(
    folder: Path, plans: Sequence[RackPlan], *, state: Path | None = None, speed: float = 1.0
) -> Generator[tuple[Rig, Bystander, Broker], None, None]:
    """Yield the rig with all its Valveys guarding, a listener that has heard them from the start, and the broker."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        broker(folder, "max_queued_messages 20000") as mosquitto,
        Bystander("127.0.0.1", mosquitto.port, SITE) as bus,
        Rig(folder / "rig", plans, broker=("127.0.0.1", mosquitto.port), state=state, speed=speed) as rig,
    ):
        since = rig.mark()
        rig.start()
        rig.await_adopted(since)
        for plan in plans:
            bus.await_state(plan.name, plan.start)
        yield rig, bus, mosquitto


def changes(stamps: Iterable[Stamp], names: Iterable[str]) -> list[tuple[str, float]]:
    """What changed among ``names``, in order."""
    wanted = set(names)
    return [(stamp["what"], stamp["value"]) for stamp in stamps if stamp["what"] in wanted]


def seconds(begun: Stamp, ended: Stamp) -> float:
    """Between two stamps, in the simulator's time."""
    return float(ended["sim_s"]) - float(begun["sim_s"])


def wet(rig: Rig, rack: str, detector: str = "LDT-101") -> int:
    """Wet a leak detector, shown at once; return the number of the last stamp before it."""
    since = rig.mark()
    rig.ask("fault_add", kind="wet", rack=rack, tag=detector, value=1)
    return since


def in_time(demands: Callable[[], Figures]) -> Figures:
    """Demand p99 within two fast scans and 5 ms.

    The machine may be shared: a percentile that fails is measured once more, and what fails twice is held against the
    probe that slept and read beside it, scheduled alike. What the probe lost too was no delay of Valvey's.
    """
    for attempt in (1, 2):
        figures = demands()
        print(figures.text())
        if figures.p99 <= LIMIT_MS:
            return figures
        warnings.warn(f"attempt {attempt}: {figures.text()}", NoisyMachineWarning, stacklevel=2)
    assert figures.p99_beyond_machine <= LIMIT_MS, figures.text()
    return figures


class NoisyMachineWarning(UserWarning):
    """A percentile had to be measured again."""


def rounds(
    case: Case,
    folder: Path,
    mosquitto: Broker,
    count: int,
    racks: int = 6,
    also: Callable[[Rig], None] = lambda _rig: None,
) -> Callable[[], Figures]:
    """What ``in_time`` wants: ``count`` rounds of a case, each time it is called."""
    chance = random.Random(case.name)
    attempts = iter(range(9))

    def demands() -> Figures:
        attempt = next(attempts)
        found = [
            demand
            for number in range(count)
            for demand in round_of(
                case,
                folder / f"{attempt}-{number}",
                racks,
                chance,
                broker=("127.0.0.1", mosquitto.port),
                also=also,
            )
        ]
        return Figures(case.name, tuple(found))

    return demands


def needs_own_disk(folder: Path) -> None:
    """Skip a test where no disk can be mounted."""
    if not disks.can_be_mounted(folder):
        pytest.skip(f"no disk can be mounted here: {disks.why_not() or 'mount refuses it'}")

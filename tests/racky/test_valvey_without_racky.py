"""Valvey decides the same whether Racky is there, absent, killed, hung or upgraded: same seed, stepped time, decisions compared."""

from collections.abc import Callable

import pytest

from fieldkit.request import Request
from fieldkit.topics import Daemon
from racky.asker import Asker
from racky.core import persist
from racky.core.memory import Memory as RackyMemory
from racky.hearing import Hearing
from tests.fieldkit.door import an_inbox
from tests.racky.health_bench import RACK, HealthBench

FOR_S = 12.0
Decision = tuple[object, ...]
Change = Callable[[HealthBench], None]


def decision(bench: HealthBench) -> Decision:
    """All that Valvey has decided by now, without wall time."""
    memory = bench.memory
    latches = tuple((one.sif, one.row, one.tag, one.value) for one in memory.latches)
    alarms = tuple(sorted((name, str(one.phase)) for name, one in memory.alarms.items()))
    steering = None if memory.steering is None else memory.steering.control.command_pct
    return (
        memory.state,
        memory.step,
        memory.state_seq,
        latches,
        alarms,
        memory.power_cap,
        steering,
        dict(bench._wrote),
    )


def decided(racky: Change, begin: Change) -> list[Decision]:
    """Every decision of a rack in service to which ``begin`` happens; ``racky`` is called before each scan."""
    bench, out = HealthBench(), []
    for number in range(round(FOR_S / 0.1)):
        if number == 50:
            begin(bench)
        racky(bench)
        bench.scan()
        out.append(decision(bench))
    return out


def there(bench: HealthBench) -> None:
    bench.racky_dead = False


def absent(bench: HealthBench) -> None:
    bench.racky_dead = True


def hung(bench: HealthBench) -> None:
    """It stops in the middle of its work and goes on later with what it knew, again and again."""
    bench.racky_dead = int(bench.now_s / 1.7) % 2 == 0


def _starts_anew(bench: HealthBench, memory: RackyMemory) -> None:
    bench.racky = persist.begin(memory, boot_id=bench.racky.boot_id, now_s=bench.now_s)


def killed(bench: HealthBench) -> None:
    """It is killed every 2.3 s, with nothing on its disk."""
    bench.racky_dead = False
    if round(bench.now_s * 10) % 23 == 0:
        _starts_anew(bench, RackyMemory())


def upgraded(bench: HealthBench) -> None:
    """Every 3.1 s another process takes over what the last one wrote down."""
    bench.racky_dead = False
    if round(bench.now_s * 10) % 31 == 0:
        _starts_anew(bench, persist.from_dict(persist.to_dict(bench.racky)))


def nothing(_bench: HealthBench) -> None:
    pass


def leak(bench: HealthBench) -> None:
    bench.bank.book.add("wet", rack=RACK, tag="LDT-101", value=1.0)


@pytest.mark.parametrize("begin", [nothing, leak])
@pytest.mark.parametrize("racky", [there, hung, killed, upgraded])
def test_valvey_decides_the_same_without_racky(racky: Change, begin: Change) -> None:
    alone = decided(absent, begin)
    assert decided(racky, begin) == alone
    assert (alone[-1][0] != alone[45][0]) is (begin is leak)


def test_racky_subscribes_to_valvey_and_valvey_to_nothing_of_racky_s() -> None:
    heard = Hearing(
        "demo", "r01", None, Asker("demo", "r01", "racky-r01"), "racky-r01",
        an_inbox(Request, Daemon.RACKY), lambda: 0.0,
    ).filters()  # fmt: skip
    assert f"racky/v1/demo/r01/{Daemon.VALVEY}/state" in heard
    assert not [topic for topic in heard if "/lease/" in topic or topic.endswith("/valvey/request/+/+")]

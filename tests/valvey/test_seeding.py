"""The seeded record: honest, for simulated racks only, and never over a memory that is there."""

import asyncio
from pathlib import Path

import pytest

from fieldkit.kept import Left
from fieldkit.service import InstanceLock
from fieldkit.store import Store
from tests.valvey.racks import rack
from valvey.config import RackConfig
from valvey.core.chart import State
from valvey.core.memory import Inventory, Memory
from valvey.keeper import find
from valvey.paths import Paths
from valvey.seeding import LOG, RefusedError, record

SIMULATED = ("simulated: false", "simulated: true")
ARMED = ("armed: false ", "armed: true ")


def a_rack(folder: Path, *edits: tuple[str, str]) -> RackConfig:
    places = ("/var/lib/valvey/r01", str(folder / "memory")), ("/run/valvey/r01", str(folder / "run"))
    return rack(folder, *places, *edits)


def left(config: RackConfig) -> tuple[Left[Memory], list[bytes]]:
    store = Store(Paths.of(config).memory, lambda _trouble: None)
    store.open()
    try:
        return find(store), store.tail(LOG, 10)
    finally:
        store.close()


@pytest.mark.parametrize("state", ["FLOWING", "ISOLATED"])
async def test_a_simulated_rack_gets_the_memory_of_a_commissioned_one(tmp_path: Path, state: str) -> None:
    config = a_rack(tmp_path, SIMULATED, ARMED)
    text = await asyncio.to_thread(record, config, state, "a bench")
    assert text.startswith("SIMULATED")
    found, notes = left(config)
    assert found.memory is not None
    memory = found.memory
    assert (memory.state, memory.inventory, memory.tested, memory.armed) == (State(state), Inventory.FULL, True, True)
    assert b"a bench" in notes[0]


def test_a_real_rack_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    config = a_rack(tmp_path)
    with pytest.raises(RefusedError, match="own requests"):
        record(config, "FLOWING", "a shortcut")
    assert not Paths.of(config).memory.exists()


def test_a_memory_that_is_there_is_never_overwritten(tmp_path: Path) -> None:
    config = a_rack(tmp_path, SIMULATED)
    record(config, "ISOLATED", "a bench")
    with pytest.raises(RefusedError, match="locks and latches"):
        record(config, "FLOWING", "again")


def test_a_record_armed_by_nobody_is_not_armed(tmp_path: Path) -> None:
    config = a_rack(tmp_path, SIMULATED)
    assert "not armed" in record(config, "FLOWING", "a bench")


@pytest.mark.parametrize(("state", "why"), [("ESD", "x"), ("flowing", "x"), ("FLOWING", "  ")])
def test_another_state_or_no_reason_is_refused(tmp_path: Path, state: str, why: str) -> None:
    with pytest.raises(RefusedError):
        record(a_rack(tmp_path, SIMULATED), state, why)


def test_a_rack_that_is_guarded_is_left_alone(tmp_path: Path) -> None:
    config = a_rack(tmp_path, SIMULATED)
    with InstanceLock(Paths.of(config).lock), pytest.raises(RefusedError, match="holds it"):
        record(config, "FLOWING", "a bench")


def test_a_disk_that_takes_nothing_is_told(tmp_path: Path) -> None:
    config = a_rack(tmp_path, SIMULATED)
    (tmp_path / "memory").write_text("no directory")
    with pytest.raises(RefusedError, match="memory"):
        record(config, "FLOWING", "a bench")

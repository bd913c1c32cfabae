"""The record on disk, and what the rack's memory says before its valves are moved by hand."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fieldkit.kept import pack
from fieldkit.store import Store
from tests.plant import commissioned
from tests.valvey.commissioning.test_signoff import FULL
from tests.valvey.racks import rack
from valvey.commissioning.demanded import faults_of
from valvey.commissioning.files import find_record, forget_contents, in_the_way, keep, set_aside
from valvey.commissioning.judge import Verdict
from valvey.commissioning.plan import lines_of
from valvey.commissioning.signoff import Signature, SignOff, entry_of
from valvey.config import RackConfig, field_digest
from valvey.core import persist
from valvey.core.chart import State
from valvey.core.memory import Effect, Inventory, Latch, Lock, Memory
from valvey.keeper import MEMORY, find
from valvey.paths import Paths


def a_rack(folder: Path, memory: Memory | None = None) -> RackConfig:
    places = ("/var/lib/valvey/r01", str(folder / "memory")), ("/run/valvey/r01", str(folder / "run"))
    config = rack(folder, *places)
    if memory is not None:
        asyncio.run(remember(config, memory))
    return config


async def remember(config: RackConfig, memory: Memory) -> None:
    store = Store(Paths.of(config).memory, lambda _trouble: None)
    store.open()
    ticket = store.save_nowait(MEMORY, pack(persist.to_dict(memory), 7))
    assert await store.saved(ticket, 5.0)
    store.close()


def shut(**changes: Any) -> Memory:
    return replace(commissioned(State.ISOLATED), **{"armed": False, **changes})


def test_a_rack_without_a_memory_or_with_one_that_is_disarmed_and_shut_may_be_commissioned(tmp_path: Path) -> None:
    config = a_rack(tmp_path)
    assert in_the_way(config) == []
    assert not Paths.of(config).memory.exists(), "looking makes nothing"
    asyncio.run(remember(config, shut()))
    assert in_the_way(config) == []
    asyncio.run(remember(config, shut(state=State.STARTUP, was=State.DRAINED)))
    assert in_the_way(config) == []


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"armed": True}, "it is armed"),
        ({"state": State.FLOWING}, "stands in FLOWING"),
        ({"state": State.STARTUP, "was": State.COOLDOWN}, "only a rack in ISOLATED or DRAINED"),
        ({"locks": (Lock("ann", "pump", 1.0),)}, "locked by ann: pump"),
        ({"latches": (Latch("SIF-1", "SIF-1", Effect.ISOLATE, 1.0, 1.0),)}, "SIF-1 is latched"),
    ],
)
def test_a_rack_that_is_armed_open_locked_or_latched_is_not_touched(
    tmp_path: Path, changes: dict[str, Any], why: str
) -> None:
    (told,) = in_the_way(a_rack(tmp_path, shut(**changes)))
    assert why in told


def test_a_memory_that_cannot_be_read_is_told_and_left_where_it_is(tmp_path: Path) -> None:
    config = a_rack(tmp_path)
    path = Paths.of(config).memory
    path.parent.mkdir()
    path.write_bytes(b"no database" * 1000)
    (told,) = in_the_way(config)
    assert "cannot be read" in told
    assert path.read_bytes() == b"no database" * 1000, "the daemon has to find it, and lock the rack"


def test_whoever_opens_the_drain_makes_the_rack_forget_what_it_holds_and_nothing_else(tmp_path: Path) -> None:
    before = shut(inventory=Inventory.FULL, tested=True)
    config = a_rack(tmp_path, before)
    assert forget_contents(config)
    left = find(Store(Paths.of(config).memory, lambda _trouble: None))
    assert left.memory == replace(before, inventory=Inventory.UNKNOWN, tested=False)
    assert left.event_seq == 7
    assert not forget_contents(config), "once"


def test_a_rack_without_a_memory_has_nothing_to_forget(tmp_path: Path) -> None:
    assert not forget_contents(a_rack(tmp_path))


def test_a_record_is_written_whole_and_a_void_one_is_kept_aside(tmp_path: Path) -> None:
    path = tmp_path / "made" / "signoff.json"
    assert find_record(path) is None
    keep(FULL, path)
    assert find_record(path) == FULL
    assert [one.name for one in path.parent.iterdir()] == ["signoff.json"]
    assert set_aside(path).name == "signoff.void-1.json"
    keep(FULL, path)
    assert set_aside(path).name == "signoff.void-2.json"


def test_a_demanded_record_has_to_be_there_whole_signed_and_of_this_configuration(tmp_path: Path) -> None:
    config = a_rack(tmp_path)
    path = tmp_path / "signoff.json"
    assert [one.message for one in faults_of(config, path)] == ["is not there: the rack was never commissioned"]
    path.write_text("{}")
    assert "no sign-off" in faults_of(config, path)[0].message
    entries = tuple(entry_of(line, {}, Verdict.PASS, "", "ann", "now") for line in lines_of(config))
    whole = SignOff(
        site="demo", rack="r01", simulated=False, digest=field_digest(config), versions={}, begun="now", entries=entries,
        signed=Signature(by="ann", at="now"),
    )  # fmt: skip
    keep(whole, path)
    assert faults_of(config, path) == []
    keep(whole.model_copy(update={"entries": entries[1:], "digest": "0" * 64}), path)
    assert [one.key for one in faults_of(config, path)] == ["digest", entries[0].id]
    armed = replace(config, data=config.data.model_copy(update={"armed": True}))
    assert field_digest(armed) == field_digest(config) == config.digest

"""Documents that survive, on a real disk."""

import asyncio
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fieldkit.clock import settle
from fieldkit.store import Found, Loaded, Store


class Rig:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "state" / "memory.db"
        self.troubles: list[str | None] = []
        self.stores: list[Store] = []

    def store(self, **more: int) -> Store:
        store = Store(self.path, self.troubles.append, **more)
        store.open()
        self.stores.append(store)
        return store


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    yield rig
    for store in rig.stores:
        store.close()


async def test_what_never_was_is_absent_and_what_was_saved_comes_back(rig: Rig) -> None:
    store = rig.store()
    assert store.load("memory") == Loaded(Found.ABSENT)
    assert await store.saved(store.save_nowait("memory", b"one"), 2.0)
    assert store.load("memory") == Loaded(Found.GOOD, b"one")
    assert store.close()
    assert rig.store().load("memory").body == b"one"


async def test_of_many_versions_the_newest_wins_and_one_generation_stays_behind_it(rig: Rig) -> None:
    store = rig.store()
    for n in range(500):
        ticket = store.save_nowait("memory", str(n).encode())
    assert await store.saved(ticket, 2.0)
    assert store.load("memory").body == b"499"
    store.save_nowait("memory", b"500")
    assert store.close()
    with sqlite3.connect(rig.path) as database:
        assert database.execute("SELECT count(*) FROM documents").fetchone() == (2,)
    database.close()


async def test_a_damaged_newest_version_falls_back_to_the_one_before_and_says_so(rig: Rig) -> None:
    store = rig.store()
    await store.saved(store.save_nowait("memory", b"old"), 2.0)
    await store.saved(store.save_nowait("memory", b"new"), 2.0)
    store.close()
    damage(rig.path, "UPDATE documents SET body = x'00' WHERE number = (SELECT max(number) FROM documents)")
    loaded = rig.store().load("memory")
    assert (loaded.found, loaded.body) == (Found.PREVIOUS, b"old")
    damage(rig.path, "UPDATE documents SET body = x'00'")
    assert rig.store().load("memory").found is Found.UNREADABLE


def damage(path: Path, statement: str) -> None:
    database = sqlite3.connect(path)
    database.execute(statement)
    database.commit()
    database.close()


@pytest.mark.parametrize(
    "rubbish", [b"not a database at all, but longer than a header" * 100, b"SQLite format 3\0" + b"\xff" * 5000]
)
async def test_a_file_that_cannot_be_read_is_kept_aside_and_work_goes_on(rig: Rig, rubbish: bytes) -> None:
    rig.path.parent.mkdir()
    rig.path.write_bytes(rubbish)
    store = rig.store()
    loaded = store.load("memory")
    assert loaded.found is Found.UNREADABLE
    assert "kept aside as memory.db.unreadable-1" in loaded.detail
    assert rig.path.with_name("memory.db.unreadable-1").read_bytes() == rubbish
    assert await store.saved(store.save_nowait("memory", b"new"), 2.0)
    store.close()
    assert rig.store().load("memory") == Loaded(Found.GOOD, b"new")


async def test_a_truncated_file_is_no_crash_and_no_absence(rig: Rig) -> None:
    store = rig.store()
    for n in range(50):
        store.append_nowait("ids", bytes(2000) + str(n).encode())
    await store.saved(store.save_nowait("memory", b"x" * 20_000), 2.0)
    store.close()
    whole = rig.path.read_bytes()
    rig.path.write_bytes(whole[: len(whole) // 2])
    assert rig.store().load("memory").found is Found.UNREADABLE


async def test_records_keep_their_order_and_their_bound_in_each_log(rig: Rig) -> None:
    store = rig.store(most_records=10)
    for n in range(25):
        store.append_nowait("ids", f"id {n}".encode())
        ticket = store.append_nowait("audit", f"act {n}".encode())
    assert await store.saved(ticket, 2.0)
    assert store.tail("ids", 3) == [b"id 22", b"id 23", b"id 24"]
    assert len(store.tail("ids", 100)) == 10
    assert len(store.tail("audit", 100)) == 10
    assert store.tail("nothing", 5) == []


async def test_a_disk_that_fails_is_told_once_and_once_when_it_works_again_and_nothing_is_lost(rig: Rig) -> None:
    store = rig.store()
    blocker = sqlite3.connect(rig.path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    started_s = time.monotonic()
    for n in range(100):
        ticket = store.save_nowait("memory", str(n).encode())
        store.append_nowait("ids", str(n).encode())
    assert time.monotonic() - started_s < 0.1
    assert not await store.saved(ticket, 1.5)
    assert store.waiting_s() > 1.0
    assert len(rig.troubles) == 1
    assert "locked" in str(rig.troubles[0])
    blocker.execute("ROLLBACK")
    blocker.close()
    assert await store.saved(ticket + 1, 5.0)
    await settle(1)
    assert rig.troubles[1:] == [None]
    assert store.load("memory").body == b"99"
    assert store.tail("ids", 1000) == [str(n).encode() for n in range(100)]
    assert store.waiting_s() == pytest.approx(0.0)


async def test_no_part_of_it_is_a_mapped_file_that_a_full_disk_could_end_the_process_with(rig: Rig) -> None:
    store = rig.store()
    assert await store.saved(store.save_nowait("memory", b"x"), 2.0)
    assert {one.name for one in rig.path.parent.iterdir()} == {"memory.db", "memory.db-wal"}


async def test_a_place_that_cannot_be_written_is_told_and_raises_nothing(rig: Rig, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    store = rig.store()
    assert store.load("memory").found is Found.UNREADABLE
    assert not await store.saved(store.save_nowait("memory", b"x"), 0.3)
    assert len(rig.troubles) == 1
    assert not store.close(0.5)


KILLED = """
import asyncio, sys
from pathlib import Path
from fieldkit.store import Store
async def main():
    store = Store(Path(sys.argv[1]), lambda trouble: None)
    store.open()
    for n in range(1_000_000):
        ticket = store.save_nowait("memory", str(n).encode())
        if await store.saved(ticket, 5.0):
            print(n, flush=True)
asyncio.run(main())
"""


def killed_writer(path: Path) -> int:
    """Let another process save numbers, kill it, and return the last one that it was told is on the disk."""
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    last = [child.stdout.readline() for _ in range(20)][-1]
    child.kill()
    rest, _ = child.communicate()
    return int((rest.split() or [last])[-1])


async def test_what_was_said_to_be_saved_survives_a_kill(rig: Rig) -> None:
    said = await asyncio.to_thread(killed_writer, rig.path)
    loaded = rig.store().load("memory")
    assert loaded.found is Found.GOOD
    assert loaded.body is not None
    assert said <= int(loaded.body) <= said + 1

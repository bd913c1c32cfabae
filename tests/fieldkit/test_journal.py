"""The journal on a real disk: bounded, chained, and in nobody's way."""

import asyncio
import resource
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fieldkit.chain import ChainError, read
from fieldkit.clock import settle
from fieldkit.journal import Journal, segments, verify


class Rig:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / "journal"
        self.troubles: list[str | None] = []
        self.journals: list[Journal] = []

    def journal(self, **more: int) -> Journal:
        journal = Journal(self.folder, self.troubles.append, **more)
        journal.open()
        self.journals.append(journal)
        return journal

    def kinds(self) -> list[object]:
        found = [read(line) for path in segments(self.folder) for line in path.read_bytes().splitlines()]
        return [f[3]["kind"] for f in found if f is not None]


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    yield rig
    for journal in rig.journals:
        journal.close()


async def test_records_are_on_the_disk_in_order_with_their_time_and_fields(rig: Rig) -> None:
    journal = rig.journal()
    for n in range(100):
        journal.note_nowait("request", {"id": n, "why": "änderung ✓"})
    await until_written(journal)
    assert journal.close()
    verdict = verify(rig.folder)
    assert verdict.whole
    assert verdict.records == 101
    last = read(segments(rig.folder)[0].read_bytes().splitlines()[-1])
    assert last is not None
    assert last[3]["id"] == 99
    assert str(last[3]["at"]).endswith("Z")


async def test_the_folder_stays_bounded_and_the_chain_goes_on_without_the_oldest(rig: Rig) -> None:
    journal = rig.journal(segment_bytes=2_000, most_bytes=10_000)
    for n in range(40):
        for m in range(10):
            journal.note_nowait("request", {"id": 10 * n + m})
        await until_written(journal)
    assert journal.close()
    verdict = verify(rig.folder)
    assert verdict.whole
    assert verdict.last == 401
    assert verdict.first is not None
    assert verdict.first > 300
    assert sum(p.stat().st_size for p in segments(rig.folder)) < 13_000


async def until_written(journal: Journal) -> None:
    until_s = time.monotonic() + 5.0
    while journal._waiting and time.monotonic() < until_s:
        await settle()
    assert not journal._waiting


async def test_after_a_crash_in_the_middle_of_a_line_a_new_segment_goes_on(rig: Rig) -> None:
    journal = rig.journal()
    for n in range(5):
        journal.note_nowait("request", {"id": n})
    await until_written(journal)
    journal.close()
    (path,) = segments(rig.folder)
    path.write_bytes(path.read_bytes()[:-40])
    again = rig.journal()
    again.note_nowait("request", {"id": 99})
    assert again.close()
    verdict = verify(rig.folder)
    assert verdict.whole
    assert len(verdict.cut) == 1
    assert verdict.last == 7
    assert len(segments(rig.folder)) == 2
    opened = read(segments(rig.folder)[1].read_bytes().splitlines()[0])
    assert opened is not None
    assert len(opened[3]["cut"]) == 1  # type: ignore[arg-type]


async def test_a_changed_journal_is_found_out_at_the_next_start_and_goes_on(rig: Rig) -> None:
    journal = rig.journal()
    for n in range(5):
        journal.note_nowait("request", {"id": n})
    await until_written(journal)
    journal.close()
    (path,) = segments(rig.folder)
    path.write_bytes(path.read_bytes().replace(b'"id":2', b'"id":7'))
    again = Journal(rig.folder, rig.troubles.append)
    rig.journals.append(again)
    assert again.open().faults
    again.close()
    assert rig.kinds()[-1] == "journal_opened"


@contextmanager
def files_no_longer_than(size: int) -> Generator[None, None, None]:
    """Let every write beyond ``size`` fail, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_full_disk_is_told_once_holds_up_nobody_and_loses_nothing_that_had_room_to_wait(rig: Rig) -> None:
    journal = rig.journal()
    await until_written(journal)
    with files_no_longer_than(20_000):
        longest_s = 0.0
        for n in range(200):
            started_s = time.monotonic()
            journal.note_nowait("request", {"id": n, "text": "x" * 500})
            longest_s = max(longest_s, time.monotonic() - started_s)
        until_s = time.monotonic() + 5.0
        while not rig.troubles and time.monotonic() < until_s:
            await settle()
    assert longest_s < 0.05
    await until_written(journal)
    assert journal.close()
    await settle()
    assert rig.kinds().count("request") == 200
    assert rig.troubles[0] is not None
    assert rig.troubles[1:] == [None]
    assert verify(rig.folder).whole


async def test_when_the_disk_comes_back_all_that_waited_is_written_and_what_was_dropped_is_counted(rig: Rig) -> None:
    journal = rig.journal(most_waiting=50)
    await until_written(journal)
    with files_no_longer_than(1_000):
        for n in range(200):
            journal.note_nowait("request", {"id": n, "text": "x" * 500})
        until_s = time.monotonic() + 5.0
        while not rig.troubles and time.monotonic() < until_s:
            await settle()
    await until_written(journal)
    assert journal.close()
    await settle()
    assert rig.troubles[-1] is None
    verdict = verify(rig.folder)
    assert verdict.whole
    assert journal.dropped >= 100
    assert rig.kinds().count("request") == 200 - journal.dropped
    assert rig.kinds()[-1] == "records_dropped"


KILLED = """
import asyncio, sys
from pathlib import Path
from fieldkit.journal import Journal
async def main():
    journal = Journal(Path(sys.argv[1]), lambda trouble: None, segment_bytes=20_000)
    journal.open()
    for n in range(1_000_000):
        journal.note_nowait("request", {"id": n})
        if n % 100 == 0:
            print(n, flush=True)
            await asyncio.to_thread(sys.stdin.readline)
asyncio.run(main())
"""


def killed_writer(folder: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdin is not None
    assert child.stdout is not None
    for _ in range(30):
        child.stdout.readline()
        print(file=child.stdin, flush=True)
    child.kill()
    child.communicate()


async def test_a_killed_writer_leaves_a_whole_chain_and_the_next_goes_on_from_it(rig: Rig) -> None:
    for _ in range(3):
        await asyncio.to_thread(killed_writer, rig.folder)
        assert verify(rig.folder).whole
    assert rig.kinds().count("journal_opened") == 3


async def test_a_record_that_cannot_be_written_is_a_bug_of_the_caller_and_told_at_once(rig: Rig) -> None:
    journal = rig.journal()
    with pytest.raises(ChainError, match="journal's own names"):
        journal.note_nowait("request", {"at": "now"})
    with pytest.raises(ChainError, match="no JSON"):
        journal.note_nowait("request", {"x": object()})
    await until_written(journal)

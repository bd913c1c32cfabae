"""The memory on disk: what is kept at once, what survives, and what is not believed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fieldkit.kept import Left, pack, unpack
from fieldkit.reading import Reading
from fieldkit.request import Answered
from fieldkit.store import Found, Loaded
from tests.plant import flowing
from tests.valvey.told import done_of
from valvey.core import persist
from valvey.core.chart import State
from valvey.core.leasing import Leasing
from valvey.core.memory import Lock, Memory, Waiting
from valvey.keeper import Keeper, StartsFile, find, new_answers


class PaperStore:
    """A store on paper: what was handed over, and a disk that is as good as the test says."""

    def __init__(self) -> None:
        self.saved: list[bytes] = []
        self.logged: list[bytes] = []
        self.loaded = Loaded(Found.ABSENT)
        self.waits_s = 0.0

    def load(self, _name: str) -> Loaded:
        return self.loaded

    def tail(self, _log: str, _count: int) -> list[bytes]:
        return self.logged

    def save_nowait(self, _name: str, body: bytes) -> int:
        self.saved.append(body)
        return len(self.saved)

    def append_nowait(self, _log: str, body: bytes) -> int:
        self.logged.append(body)
        return 0

    def is_saved(self, ticket: int) -> bool:
        return ticket <= len(self.saved)

    def waiting_s(self) -> float:
        return self.waits_s


class Rig:
    def __init__(self, folder: Path) -> None:
        self.store = PaperStore()
        self.readings: dict[str, Reading] = {}
        self.starts = StartsFile(folder / "starts.json", "boot-1")
        store: Any = self.store
        self.keeper = Keeper(
            store,
            self.readings,
            event_seq=lambda: 7,
            starts=self.starts,
        )


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def test_a_quiet_rack_is_kept_about_once_a_second(rig: Rig) -> None:
    memory = Memory()
    for number in range(100):
        rig.keeper(done_of(memory, replace(memory, now_s=number * 0.05), number * 0.05))
    assert len(rig.store.saved) == 5


@pytest.mark.parametrize(
    "change",
    [
        {"state": State.COOLDOWN},
        {"locks": (Lock("ann", "work", 1.0),)},
        {"answered": (Answered("1", "accepted", "ok", "", ""),)},
        {"state_seq": 9},
        {"armed": True},
        {"starts_s": (1.0,)},
        {"grant": "cdu1-7-1"},
        {"leasing": Leasing(number=1)},
        {"waiting": Waiting("1", "open", "operator", "ann", {}, "", "", 3, 1.0)},
        {"uncoordinated": True},
    ],
)
def test_what_matters_is_handed_over_in_its_own_scan(rig: Rig, change: dict[str, Any]) -> None:
    memory = Memory()
    rig.keeper(done_of(memory, memory, 0.0))
    rig.keeper(done_of(memory, replace(memory, **change), 0.05))
    assert len(rig.store.saved) == 2


def test_the_record_comes_back_with_the_number_of_the_next_event() -> None:
    memory = Memory(state=State.COOLDOWN, locks=(Lock("ann", "work", 1.0),))
    assert unpack(pack(persist.to_dict(memory), 41), persist.from_dict) == (memory, 41)


def test_answers_are_written_once_and_come_back(rig: Rig) -> None:
    first, second = Answered("1", "accepted", "ok", "", ""), Answered("2", "refused", "state", "no", "yes")
    empty = Memory()
    one, both = replace(empty, answered=(first,)), replace(empty, answered=(first, second))
    rig.keeper(done_of(empty, empty, 0.0))
    rig.keeper(done_of(empty, one, 0.05))
    rig.keeper(done_of(one, both, 0.10))
    rig.keeper(done_of(both, both, 2.0))
    assert len(rig.store.logged) == 2
    rig.store.loaded = Loaded(Found.GOOD, rig.store.saved[-1])
    found = find(rig.store)  # type: ignore[arg-type]
    assert found.memory == both


def test_new_answers_are_found_when_the_oldest_have_been_dropped() -> None:
    answers = tuple(Answered(str(n), "accepted", "ok", "", "") for n in range(5))
    assert new_answers(answers[:3], answers[2:]) == answers[3:]
    assert new_answers((), answers) == answers
    assert new_answers(answers, answers) == ()


@pytest.mark.parametrize("found", [Found.PREVIOUS, Found.UNREADABLE])
def test_an_older_or_damaged_memory_is_not_believed(rig: Rig, found: Found) -> None:
    rig.store.loaded = Loaded(found, pack(persist.to_dict(Memory()), 3), "damaged")
    assert (find(rig.store).readable, find(rig.store).memory) == (False, None)  # type: ignore[arg-type]


def test_no_memory_at_all_is_no_trouble(rig: Rig) -> None:
    assert find(rig.store) == Left(None)  # type: ignore[arg-type]


def test_starts_are_counted_outside_the_memory_until_a_minute_of_service_has_made_them_good(
    rig: Rig, tmp_path: Path
) -> None:
    assert rig.starts.read() == ()
    assert rig.starts.write((1.0, 2.0)) == ""
    assert StartsFile(tmp_path / "starts.json", "boot-1").read() == (1.0, 2.0)
    assert StartsFile(tmp_path / "starts.json", "boot-2").read() == (), "another boot counts anew"
    rig.keeper(done_of(Memory(starts_s=(1.0, 2.0)), Memory(), 70.0))
    assert rig.starts.read() == ()


def test_starts_that_cannot_be_counted_are_told_and_keep_nobody_from_starting(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    starts = StartsFile(tmp_path / "file" / "starts.json", "boot-1")
    assert starts.write((1.0,)) != ""
    assert starts.read() == ()


def test_a_paper_rack_that_trips_is_kept_in_the_scan_of_the_trip(rig: Rig) -> None:
    rack = flowing()
    before = rack.memory
    rack.values["HS-101"] = 1.0
    rack.run(0.05)
    rig.keeper(done_of(before, before, 0.0))
    saved = len(rig.store.saved)
    rig.keeper(done_of(before, rack.memory, 0.05))
    assert len(rig.store.saved) == saved + 1
    assert unpack(rig.store.saved[-1], persist.from_dict)[0].latches[0].sif == "SIF-7"

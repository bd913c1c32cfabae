"""What a daemon keeps of itself: one record for all daemons, believed only whole; and whether the disk works."""

from collections.abc import Callable
from typing import Any, cast

import pytest

from fieldkit.kept import Kept, Left, find, pack, unpack
from fieldkit.reading import Quality, Reading
from fieldkit.store import Found, Loaded, Store
from fieldkit.tag import SYS_STORE
from fieldkit.units import Unit


class PaperStore:
    """A store on paper: what is loaded, what was saved, and how long it waits for the disk."""

    def __init__(self, loaded: Loaded | None = None) -> None:
        self.loaded = loaded
        self.saved: list[tuple[str, bytes]] = []
        self.on_disk = 0
        self.waits_s = 0.0

    def load(self, name: str) -> Loaded:
        assert name == "mine"
        return self.loaded or Loaded(Found.ABSENT, None)

    def save_nowait(self, name: str, body: bytes) -> int:
        self.saved.append((name, body))
        return len(self.saved)

    def is_saved(self, ticket: int) -> bool:
        return ticket <= self.on_disk

    def waiting_s(self) -> float:
        return self.waits_s


def number_of(plain: Any) -> int:
    try:
        return int(plain["number"])
    except (KeyError, TypeError):
        raise ValueError("the memory has no number") from None


def found_in(loaded: Loaded | None, *, older: bool = False) -> Left[int]:
    return find(cast(Store, PaperStore(loaded)), "mine", number_of, older=older)


def test_a_record_comes_back_as_it_was_kept() -> None:
    body = pack({"number": 7}, 12)
    assert unpack(body, number_of) == (7, 12)
    assert found_in(Loaded(Found.GOOD, body)) == Left(7, True, 12, "")


def test_nothing_at_all_is_no_trouble() -> None:
    assert found_in(None) == Left(None, True, 0, "")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "no JSON document"),
        (b"{", "no JSON document"),
        (b"[" * 100_000, "no JSON document"),
        (b"[]", "not of format 1"),
        (b'{"record":2,"event_seq":1,"memory":{"number":1}}', "not of format 1"),
        (b'{"record":1,"memory":{"number":1}}', "event number is None"),
        (b'{"record":1,"event_seq":"1","memory":{"number":1}}', "event number is '1'"),
        (b'{"record":1,"event_seq":-1,"memory":{"number":1}}', "event number is -1"),
        (b'{"record":1,"event_seq":1}', "no number"),
    ],
)
def test_a_record_that_is_not_whole_is_unreadable_and_says_why(body: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        unpack(body, number_of)
    left = found_in(Loaded(Found.GOOD, body))
    assert (left.memory, left.readable) == (None, False)
    assert why in left.trouble


def test_an_older_version_is_believed_only_where_that_is_said() -> None:
    older = Loaded(Found.PREVIOUS, pack({"number": 3}, 1), "the newest is damaged")
    assert found_in(older) == Left(None, False, 0, "the newest is damaged")
    assert found_in(older, older=True) == Left(3, True, 1, "the newest is damaged")


@pytest.mark.parametrize("older", [False, True])
def test_what_cannot_be_read_is_not_believed(older: bool) -> None:
    damaged = Loaded(Found.UNREADABLE, None, "damaged")
    assert found_in(damaged, older=older) == Left(None, False, 0, "damaged")


def _kept(store: PaperStore, readings: dict[str, Reading], journal_fault: Callable[[], bool]) -> Kept:
    return Kept(cast(Store, store), "mine", readings, lambda: 5, journal_fault)


def test_a_memory_is_kept_under_its_name_with_the_number_of_the_next_event() -> None:
    store = PaperStore()
    kept = _kept(store, {}, lambda: False)
    kept.save({"number": 1})
    kept.save({"number": 2})
    assert [(name, unpack(body, number_of)) for name, body in store.saved] == [("mine", (1, 5)), ("mine", (2, 5))]
    store.on_disk = 1
    assert (kept.ticket, kept.is_kept(1), kept.is_kept(2)) == (2, True, False)


@pytest.mark.parametrize(
    ("trouble", "waits_s", "journal", "bad"),
    [(None, 0.0, False, 0.0), ("full", 0.0, False, 1.0), (None, 2.0, False, 0.0), (None, 2.1, False, 1.0), (None, 0.0, True, 1.0)],
)  # fmt: skip
def test_a_failing_or_stalled_disk_and_a_failing_journal_are_told_by_a_reading(
    trouble: str | None, waits_s: float, journal: bool, bad: float
) -> None:
    store, readings = PaperStore(), dict[str, Reading]()
    kept = _kept(store, readings, lambda: journal)
    kept.trouble, store.waits_s = trouble, waits_s
    kept.show(3.0)
    assert readings == {SYS_STORE: Reading(SYS_STORE, bad, Unit.NONE, Quality.GOOD, 3.0)}

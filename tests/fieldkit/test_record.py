"""A daemon's record: every field of a request, every fact, and what was no request, in the same words for all daemons."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from fieldkit.errors import Refusal
from fieldkit.record import Record
from fieldkit.request import Request


class Notes:
    """A journal on paper."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, dict[str, Any]]] = []

    def note_nowait(self, kind: str, fields: dict[str, Any]) -> None:
        self.notes.append((kind, fields))


class Kind(StrEnum):
    TRIP = "trip"


@dataclass(frozen=True, slots=True)
class Fact:
    kind: Kind
    at_s: float
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class More(Request):
    """A daemon's own request."""

    waited: bool = False


def noted(record: Record) -> list[tuple[str, dict[str, Any]]]:
    journal = record._journal
    assert isinstance(journal, Notes)
    return journal.notes[1:]


def a_record() -> Record:
    journal: Any = Notes()
    record = Record(journal, {"version": "1"})
    assert journal.notes == [("started", {"version": "1"})]
    return record


def test_a_request_is_recorded_whole_whatever_a_daemon_adds_to_it() -> None:
    record = a_record()
    asked = More("a", "open", "operator", "desk", {"n": float("nan")}, "anna", "a test", 7, waited=True)
    record.note_step((asked,), ())
    assert noted(record) == [
        ("request", {
            "id": "a", "name": "open", "role": "operator", "client": "desk", "args": {"n": None}, "by": "anna", "why": "a test",
            "expect_seq": 7, "expired": False, "waited": True,
        }),
    ]  # fmt: skip


def test_a_fact_is_recorded_with_its_time_and_plain_fields() -> None:
    record = a_record()
    record.note_step((), (Fact(Kind.TRIP, 4.0, {"sif": "SIF-4", "of": {"b", "a"}}),))
    assert noted(record) == [("fact", {"fact": "trip", "at_s": 4.0, "fields": {"sif": "SIF-4", "of": ["a", "b"]}})]


def test_what_was_no_request_is_recorded_with_who_sent_it_and_so_is_the_end() -> None:
    record = a_record()
    record.refused_at_the_door("bob", Refusal("not_json", "it is no JSON", "JSON", "id-1"))
    record.close()
    assert noted(record) == [
        ("refused_at_the_door", {"client": "bob", "id": "id-1", "code": "not_json", "reason": "it is no JSON"}),
        ("stopped", {}),
    ]

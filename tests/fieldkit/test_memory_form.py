"""The form of a memory on disk: whole, of a known format, its alarms by id and state."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import TypeAdapter

from fieldkit.alarm import AlarmState, Phase, Priority, alarm_row
from fieldkit.memory_form import believed, only, opened, plain

ROW = alarm_row("wet", Priority.HIGH, "c", "q", "a", 60.0, book="")


@dataclass(frozen=True, slots=True)
class Memory:
    format: int = 2
    now_s: float = 0.0
    asked: int = 0
    alarms: Mapping[str, AlarmState] = field(default_factory=dict)


FORM = TypeAdapter(Memory)
KNOWN = Memory(2, 7.5, 3, {"wet": AlarmState(ROW, Phase.UNACK, active=True, since_s=1.0)})


def read(document: Mapping[str, Any]) -> Memory:
    return believed(FORM, document, 2, {"wet": ROW}.get)


def test_a_memory_comes_back_as_it_was() -> None:
    assert read(plain(FORM, KNOWN)) == KNOWN
    assert read({}) == Memory()


def test_what_shall_not_be_kept_is_left_out() -> None:
    document = plain(FORM, KNOWN, {"asked"})
    assert set(document) == {"format", "now_s", "alarms"}
    assert read(document).asked == 0


def test_an_alarm_without_a_row_is_dropped() -> None:
    document = plain(FORM, KNOWN)
    document["alarms"].append({**document["alarms"][0], "id": "of-tomorrow"})
    assert read(document) == KNOWN


def test_an_older_format_becomes_the_newest() -> None:
    document, written = opened({"format": 1, "now_s": 7.5}, 2)
    assert written == 1
    assert read(document) == Memory(2, 7.5)


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ([], "the memory is list, not an object"),
        ({}, "format None; this version reads formats 1 to 2"),
        ({"format": "1"}, "format '1'"),
        ({"format": 0}, "format 0"),
        ({"format": 3}, "format 3"),
    ],
)
def test_another_format_is_not_read(document: object, told: str) -> None:
    with pytest.raises(ValueError, match="memory") as error:
        opened(document, 2)
    assert told in str(error.value)


def test_a_document_with_other_fields_is_not_whole() -> None:
    only({"a": 1, "b": 2}, {"a", "b"})
    only({"a": 1, "b": 2}, {"a"}, {"b", "c"})
    with pytest.raises(ValueError, match=r"unknown \['c', 'd'\], missing \['b'\]"):
        only({"a": 1, "d": 2, "c": 2}, {"a", "b"})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"now_s": "soon"}, "the memory cannot be read: now_s: "),
        ({"alarms": 7}, "the alarms of the memory cannot be read: TypeError"),
        ({"alarms": [{}]}, "the alarms of the memory cannot be read: KeyError('id')"),
        ({"alarms": [{"id": "wet"}]}, "the state of alarm wet is not whole"),
    ],
)
def test_what_has_another_shape_is_told_with_its_place(change: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=r"memory|alarm") as error:
        read(plain(FORM, KNOWN) | change)
    assert str(error.value).startswith(told)

"""The table of what each safety function reads, compared with what its judge really reads."""

from collections.abc import Iterator

import pytest

from fieldkit.reading import Quality, Reading
from fieldkit.tag import BY_TAG, TAGS, Owner, Signal
from valvey.core.limits import Limits
from valvey.core.memory import Memory
from valvey.core.policy import DEFAULT_POLICY
from valvey.core.trips import Trip, rows_for
from valvey.core.view import View
from valvey.core.virtual_sensors import OPEN_S, Motion, VirtualSensors
from valvey.needs import FAST, LAGGING, NEEDS, OUTPUT_TAGS, READ_BACK, Need, needed

NOW_S = 100.0
LIMITS = Limits(policy=DEFAULT_POLICY)
ROWS = rows_for(LIMITS)


class Noted(dict[str, Reading]):
    """Readings that note which of them are looked at."""

    def __init__(self, readings: dict[str, Reading]) -> None:
        super().__init__(readings)
        self.seen: set[str] = set()

    def get(self, tag: str, default: object = None) -> Reading | None:  # type: ignore[override]
        self.seen.add(tag)
        return super().get(tag)


def _worlds() -> Iterator[dict[str, float]]:
    """Readings in which every branch of some judge is taken: all off, all on, all high; each with load, and with a leak."""
    for contact in (0.0, 1.0):
        for number in (0.0, 1000.0):
            world = {row.tag: contact if row.range == (0.0, 1.0) else number for row in TAGS}
            yield world
            yield world | {"JT-101": 100.0, "XI-101": 1.0}
            yield world | {"FT-102": 0.0}


def _read_by(row: Trip) -> set[str]:
    seen: set[str] = set()
    for world in _worlds():
        for state in row.armed:
            memory = Memory(
                state=state,
                shut_since_s=0.0,
                permit_off_since_s=0.0,
                header_ref_kpa=(0.0, 0.0),
                sensors=VirtualSensors(motion=Motion(open_s=OPEN_S, supply_lpm=1000.0, return_lpm=0.0)),
            )
            readings = Noted({t: Reading(t, v, BY_TAG[t].unit, Quality.GOOD, NOW_S) for t, v in world.items()})
            row.judge(View(readings, memory, LIMITS, NOW_S))
            seen |= readings.seen
    return seen - {"WRITE-ACK"}


def _tags(need: Need) -> set[str]:
    return {*need.senses, *need.helps, *need.maybe}


@pytest.mark.parametrize(
    "need", [need for need in NEEDS if need.sif not in {"adoption", "opening"}], ids=lambda need: need.sif
)
def test_a_safety_function_reads_what_the_table_says(need: Need) -> None:
    rows = [row for row in ROWS if need.sif in {row.key, row.sif}]
    assert set().union(*(_read_by(row) for row in rows)) == _tags(need)


def test_every_row_has_its_line() -> None:
    names = {need.sif for need in NEEDS}
    assert [row.key for row in ROWS if row.key not in names and row.sif not in names] == []


def test_what_is_needed_is_a_tag_that_valvey_reads() -> None:
    for tag in needed():
        assert BY_TAG[tag].owner is Owner.VALVEY
        assert BY_TAG[tag].signal not in {Signal.COMMAND, Signal.ANALOGUE_COMMAND, Signal.WIRED}


def test_the_outputs_are_the_commands_of_the_tag_table() -> None:
    kinds = {Signal.COMMAND, Signal.ANALOGUE_COMMAND, Signal.CODED_COMMAND}
    commands = {row.tag for row in TAGS if row.signal in kinds}
    assert set(OUTPUT_TAGS) == commands
    assert set(READ_BACK) == {row.tag for row in TAGS if row.signal is Signal.COMMAND}


def test_sensors_with_a_lag_are_sensed_by_some_function() -> None:
    sensed = {tag for need in NEEDS for tag in need.senses}
    assert sensed >= LAGGING
    assert {"LDT-101", "HS-101", "XY-101", "FT-101"} <= FAST
    assert FAST.isdisjoint({"TT-101", "TT-102A", "JT-101"})

"""The record around a trip, and the same decisions from it again."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fieldkit import chain
from fieldkit.errors import Refusal
from fieldkit.reading import Reading
from fieldkit.request import Answered
from tests.lender import Lender
from tests.plant import PERIOD_S, PaperRack, flowing, isolated, starting
from tests.valvey.told import done_of
from valvey import recording
from valvey.core.chart import State
from valvey.core.requests import Request
from valvey.recorder import AFTER_S, Recorder
from valvey.replay import Replayed, lines, replay, text

SLOW_S = 0.25
"""Period of tests in which minutes pass."""


class PaperJournal:
    """Keeps what is noted, as the real one would write it."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, dict[str, Any]]] = []

    def note_nowait(self, kind: str, fields: dict[str, Any]) -> None:
        self.notes.append((kind, fields))

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.notes]

    def write(self, path: Path, change: Callable[[str, dict[str, Any]], dict[str, Any] | None] | None = None) -> Path:
        digest, out = chain.START, b""
        for number, (kind, fields) in enumerate(self.notes):
            changed = fields if change is None else change(kind, json.loads(json.dumps(fields)))
            if changed is not None:
                line, digest = chain.forge(number + 1, digest, chain.encode({"kind": kind, **changed}))
                out += line
        path.write_bytes(out)
        return path


class Rig:
    """A paper rack whose scans are recorded."""

    def __init__(self, rack: PaperRack, period_s: float = PERIOD_S) -> None:
        self.rack, self.journal, self.period_s = rack, PaperJournal(), period_s
        rack.scan(dt_s=PERIOD_S)
        units = {tag: one.unit for tag, one in rack.readings().items()}
        journal: Any = self.journal
        self.recorder = Recorder(journal, units, rack.limits, fast_s=period_s, started={"version": "1"})
        self.seen: dict[str, Reading] = {}
        real = rack.readings

        def readings() -> dict[str, Reading]:
            self.seen = real()
            return self.seen

        rack.readings = readings  # type: ignore[method-assign]

    def run(self, for_s: float, *requests: Request) -> None:
        for number in range(round(for_s / self.period_s)):
            asked = requests if number == 0 else ()
            before, answers = self.rack.memory, tuple(self.rack.answers)
            scan = self.rack.scan(*asked, dt_s=self.period_s)
            self.recorder(
                done_of(
                    before,
                    scan.memory,
                    self.rack.now_s,
                    *scan.facts,
                    readings=self.seen,
                    requests=asked,
                    outputs=scan.outputs,
                    answers=answers,
                )
            )


def a_request(name: str, rack: PaperRack, number: int = 1, **args: Any) -> Request:
    return Request(f"id-{number}", name, "operator", "ann", args, why="a test", expect_seq=rack.memory.state_seq)


@pytest.fixture
def tripped() -> Rig:
    """Ten quiet seconds, a request, an emergency stop, and what follows."""
    rig = Rig(flowing())
    rig.run(5.0)
    rig.run(5.0, a_request("set_point", rig.rack, fcv_pct=55.0))
    rig.rack.values["HS-101"] = 1.0
    rig.run(3.0)
    rig.rack.values["HS-101"] = 0.0
    rig.run(10.0, a_request("reset", rig.rack, 2, sif=["SIF-7"]))
    return rig


def test_work_under_a_lease_is_decided_the_same_again(tmp_path: Path) -> None:
    rack = isolated(coordinator=True, name="demo/r03")
    rack.lender = Lender()
    rig = Rig(rack)
    rig.run(3.0, a_request("open", rack))
    assert (rack.state, rack.memory.grant) == (State.OPENING, "cdu1-7-1")
    rack.values["HS-101"] = 1.0
    rig.run(1.0)
    rig.recorder.close()
    found = run_again(rig, tmp_path)
    assert (found.equal, found.scans) == (True, 80)


def run_again(rig: Rig, tmp_path: Path, change: Any = None) -> Replayed:
    (found,) = replay(rig.journal.write(tmp_path / "journal-000001.jsonl", change))
    return found


def test_a_recording_holds_what_was_before_the_trip_and_decides_the_same_again(tripped: Rig, tmp_path: Path) -> None:
    tripped.recorder.close()
    found = run_again(tripped, tmp_path)
    assert (found.equal, found.complete, found.trips, found.scans) == (True, True, ["SIF-7"], 460)
    assert "the same decisions" in text([found])


def test_a_recording_ends_a_minute_after_the_last_trip(tmp_path: Path) -> None:
    rig = Rig(flowing(), SLOW_S)
    rig.rack.values["HS-101"] = 1.0
    rig.run(AFTER_S + 5.0)
    ended = [fields for kind, fields in rig.journal.notes if kind == "recording_ended"]
    assert [one["why"] for one in ended] == ["complete"]
    found = run_again(rig, tmp_path)
    assert found.equal
    assert found.seconds > AFTER_S - recording.ROWS_A_PART * SLOW_S


def test_two_minutes_before_a_trip_are_kept_and_no_more() -> None:
    rig = Rig(flowing(), SLOW_S)
    rig.run(200.0)
    rig.rack.values["HS-101"] = 1.0
    rig.run(10.0)
    rig.recorder.close()
    parts = [fields for kind, fields in rig.journal.notes if kind == "recording"]
    recorded_s = sum(part["rows"] for part in parts) * SLOW_S
    assert 120.0 <= recorded_s - 10.0 <= 120.0 + 2 * recording.ROWS_A_PART * SLOW_S


def test_one_part_is_written_a_scan_so_that_no_scan_pays_for_the_whole_record() -> None:
    rig = Rig(flowing())
    rig.run(60.0)
    rig.rack.values["HS-101"] = 1.0
    before = rig.journal.kinds().count("recording")
    for _ in range(5):
        rig.run(PERIOD_S)
        now = rig.journal.kinds().count("recording")
        assert now - before <= 1
        before = now


def test_readings_that_cannot_be_believed_come_back_with_their_reasons(tmp_path: Path) -> None:
    rig = Rig(flowing())
    rig.rack.values["FT-101"] = None
    rig.rack.stale.add("PT-101")
    rig.run(2.0)
    rig.rack.values["HS-101"] = 1.0
    rig.run(2.0)
    rig.recorder.close()
    assert run_again(rig, tmp_path).equal


def test_an_adoption_is_decided_the_same_again(tmp_path: Path) -> None:
    rig = Rig(starting())
    rig.rack.values["HS-101"] = 1.0
    rig.run(2.0)
    rig.recorder.close()
    assert run_again(rig, tmp_path).equal


def test_a_repeated_request_id_is_known_again(tmp_path: Path) -> None:
    rack = flowing()
    answer = Answered("id-1", "refused", "state", "not then", "later")
    rack.memory = replace(rack.memory, answered=(answer,))
    rig = Rig(rack)
    rig.run(1.0, a_request("set_point", rack, fcv_pct=40.0))
    rack.values["HS-101"] = 1.0
    rig.run(1.0)
    rig.recorder.close()
    assert run_again(rig, tmp_path).equal


def test_another_limit_decides_otherwise_and_the_first_difference_is_named(tripped: Rig, tmp_path: Path) -> None:
    tripped.recorder.close()

    def lower(kind: str, fields: dict[str, Any]) -> dict[str, Any]:
        if kind == "recording_begun":
            fields["limits"]["supply_hh_kpa"] = 200.0
        return fields

    found = run_again(tripped, tmp_path, lower)
    assert not found.equal
    assert found.difference is not None
    assert found.difference.what == "outputs"
    assert "first difference" in text([found])
    assert found.document()["first_difference"]["scan"] == found.scans


@pytest.mark.parametrize("damage", ["part", "format", "memory", "rows", "data"])
def test_a_recording_that_is_not_whole_is_not_called_equal(tripped: Rig, tmp_path: Path, damage: str) -> None:
    tripped.recorder.close()

    def spoil(kind: str, fields: dict[str, Any]) -> dict[str, Any] | None:
        if kind == "recording_begun" and damage in {"format", "memory"}:
            fields[damage] = 99
        if kind == "recording" and fields["part"] == 1:
            if damage == "part":
                return None
            if damage == "rows":
                fields["rows"] += 1
            if damage == "data":
                fields["data"] = "AAAA"
        return fields

    found = run_again(tripped, tmp_path, spoil)
    assert not found.equal
    assert found.trouble


def test_every_request_and_fact_is_in_the_journal_and_so_is_who_was_refused_at_the_door(tripped: Rig) -> None:
    tripped.recorder.refused_at_the_door("bob", Refusal("retained", "retained", "not retained", "id-9"))
    tripped.recorder.note("policy_changed", {"by": "ann"})
    kinds = tripped.journal.kinds()
    assert kinds.count("request") == 2
    assert {"started", "fact", "refused_at_the_door", "policy_changed"} <= set(kinds)
    trips = [one for kind, one in tripped.journal.notes if kind == "fact" and one["fact"] == "trip"]
    assert [one["fields"]["sif"] for one in trips] == ["SIF-7"]


def test_a_line_that_was_changed_is_not_read(tripped: Rig, tmp_path: Path) -> None:
    path = tripped.journal.write(tmp_path / "journal-000001.jsonl")
    whole = len(list(lines(tmp_path)))
    path.write_bytes(path.read_bytes().replace(b'"started"', b'"stopped"', 1))
    assert len(list(lines(path))) == whole - 1

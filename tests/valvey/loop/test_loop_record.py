"""The coordinator's record: who asked what, what was granted and written, and the same decisions from it again."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fieldkit.errors import Refusal
from fieldkit.request import Request
from tests.valvey.core.loop.paper import PaperLoop, limits
from tests.valvey.test_recorder import PaperJournal
from valvey.cli import build
from valvey.core.chart import State
from valvey.core.leasing import Act
from valvey.core.loop.leases import Asked
from valvey.core.loop.limits import Action
from valvey.core.loop.step import LoopInputs, LoopScan, step
from valvey.loop.recorder import AFTER_S, LoopRecorder
from valvey.loop.replay import run
from valvey.loop.turns import Turn
from valvey.replay import Replayed, replay

PERIOD_S = 0.5


class Rig(PaperLoop):
    """A paper loop whose steps are recorded."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.journal = PaperJournal()
        journal: Any = self.journal
        self.recorder = LoopRecorder(journal, "cdu1", self.limits, period_s=PERIOD_S, started={"version": "1"})
        self.acknowledged = True

    def scan(self, *asks: Asked, requests: tuple[Request, ...] = (), dt_s: float = PERIOD_S) -> LoopScan:
        before = self.memory
        done = super().scan(*asks, requests=requests, dt_s=dt_s)
        self.recorder(Turn(self.now_s, before, self.inputs, done, self.acknowledged))
        return done

    def notes(self, kind: str) -> list[dict[str, Any]]:
        return [fields for name, fields in self.journal.notes if name == kind]

    def again(self, path: Path) -> list[Replayed]:
        return replay(self.journal.write(path), {"loop": run})


@pytest.fixture
def rig() -> Rig:
    made = Rig(limits(pump_stop=True, actions={"static-lost": Action.ISOLATE}))
    made.settled()
    return made


def work(rig: Rig, flow_lpm: float = 60.0) -> None:
    """A rack is isolated under a lease, so the set-point moves."""
    granted = rig.say("r3", "isolate")
    rig.put("r3", state=State.ISOLATING, points={"FT-101": flow_lpm, "FT-102": flow_lpm})
    rig.run(5.0)
    rig.say("r3", "isolate", Act.RENEW, granted.id)
    rig.put("r3", state=State.ISOLATED, points={"FT-101": 0.0, "FT-102": 0.0})
    rig.say("r3", "isolate", Act.GIVE_BACK, granted.id)


def test_asks_answers_writes_and_requests_are_recorded_with_who_and_why(rig: Rig) -> None:
    work(rig)
    rig.say("r2", "dance")
    rig.say("r4", "open", Act.RENEW, "of-yesterday")
    rig.request("sump_emptied", sump="s1")
    leases = [(one["rack"], one["act"], one["answer"]["granted"]) for one in rig.notes("lease")]
    assert leases == [
        ("r3", "ask", True), ("r3", "give_back", False), ("r2", "ask", False), ("r4", "renew", False),
    ]  # fmt: skip
    assert rig.notes("lease")[2]["answer"]["would_allow"]
    (request,) = rig.notes("request")
    assert (request["name"], request["by"], request["why"], request["client"]) == (
        "sump_emptied",
        "Edda",
        "a test",
        "edda",
    )
    assert {"lease_granted", "lease_given_back", "set_point_held", "sump_emptied"} <= {
        one["fact"] for one in rig.notes("fact")
    }
    written = rig.notes("written")
    assert len(written) > 3
    assert all(one["point"] == "flow_sp" and one["acknowledged"] for one in written)
    assert written[-1]["value"] < 800.0


def test_a_write_that_was_not_taken_and_one_that_the_gate_stopped_are_told_apart(rig: Rig) -> None:
    rig.acknowledged, rig.obey = False, False
    rig.say("r3", "isolate")
    rig.put("r3", state=State.ISOLATING, points={"FT-101": 60.0, "FT-102": 60.0})
    rig.run(2.0)
    assert {one["acknowledged"] for one in rig.notes("written")} == {False}
    rig.others = True
    rig.run(2.0)
    assert {one["point"] for one in rig.notes("stopped_by_the_gate")} == {"flow_sp"}


def test_what_was_no_request_and_what_racks_are_asked_is_recorded(rig: Rig) -> None:
    rig.recorder.refused_at_the_door("bob", Refusal("not_json", "no JSON", "JSON", about="7"))
    for name in ("r1", "r2"):
        rig.put(name, latches=("SIF-6",))
    rig.run(1.0)
    rig.recorder.close()
    assert rig.notes("refused_at_the_door") == [{"client": "bob", "id": "7", "code": "not_json", "reason": "no JSON"}]
    assert [(one["rack"], one["request"]) for one in rig.notes("asked_of_rack")] == [("r4", "isolate")]
    assert rig.journal.kinds()[0] == "started"
    assert rig.journal.kinds()[-1] == "stopped"


def test_a_quiet_loop_records_nothing_but_its_start(rig: Rig) -> None:
    rig.run(300.0)
    assert set(rig.journal.kinds()) == {"started", "fact"}  # it served
    assert {one["fact"] for one in rig.notes("fact")} == {"serving"}


def test_an_event_is_recorded_from_before_it_and_decided_the_same_again(rig: Rig, tmp_path: Path) -> None:
    rig.run(100.0)
    for name in ("r1", "r3"):
        rig.put(name, points={"LDT-101": 1.0})
    rig.run(AFTER_S + 5.0)
    (found,) = rig.again(tmp_path / "journal")
    assert found.equal, found.document()
    assert found.complete
    assert found.trips == ["racks-leak"]
    assert found.seconds > 110.0


def test_work_is_recorded_until_the_set_point_is_released_and_decided_the_same_again(rig: Rig, tmp_path: Path) -> None:
    work(rig)
    rig.run(200.0)
    rig.request("reset", event="nothing")
    (found,) = rig.again(tmp_path / "journal")
    assert found.equal, found.document()
    assert found.complete
    assert found.seconds > 90.0


def test_a_stop_a_shortage_and_the_end_of_the_process_are_decided_the_same_again(rig: Rig, tmp_path: Path) -> None:
    rig.cdu["P-201"], rig.cdu["FT-201"], rig.cdu["PT-201"] = 100.0, 500.0, 300.0
    rig.run(20.0)
    rig.request("stop_pumps", role="safety")
    rig.others = True
    rig.run(3.0)
    rig.recorder.close()
    found = rig.again(tmp_path / "journal")
    assert [one.equal for one in found] == [True], [one.document() for one in found]
    assert not [one for one in rig.notes("recording_ended") if one["why"] != "stopped"]


def test_a_recording_that_is_not_whole_is_told(rig: Rig, tmp_path: Path) -> None:
    work(rig)
    rig.run(200.0)
    path = tmp_path / "journal"

    def told(change: Any) -> str:
        return replay(rig.journal.write(path, change), {"loop": run})[0].trouble

    assert (
        told(lambda kind, fields: None if kind == "recording" and fields["part"] == 1 else fields)
        == "part 1 of the recording is missing"
    )
    assert "format 9" in told(lambda kind, fields: fields | {"format": 9} if kind == "recording_begun" else fields)
    assert "not whole" in told(lambda kind, fields: fields | {"packed": "!"} if kind == "recording" else fields)
    assert "head of the recording is not whole" in told(
        lambda kind, fields: (
            {**fields, "packed": rig.notes("recording")[0]["packed"]} if kind == "recording_begun" else fields
        )
    )
    assert "49 rows" in told(lambda kind, fields: fields | {"rows": 49} if kind == "recording" else fields)


def test_the_command_replays_a_loops_journal_as_it_does_a_racks(rig: Rig, tmp_path: Path) -> None:
    work(rig)
    rig.run(200.0)
    done = CliRunner().invoke(build("replay"), ["replay", str(rig.journal.write(tmp_path / "journal")), "-o", "json"])
    assert (done.exit_code, json.loads(done.output)["equal"]) == (0, True)


def test_a_decision_that_differs_is_shown_with_its_time(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work(rig)
    rig.run(200.0)
    path = rig.journal.write(tmp_path / "journal")

    def shifted(memory: Any, inputs: LoopInputs, loop: str, limits: Any, now_s: float) -> LoopScan:
        return step(memory, inputs, "cdu2", limits, now_s)

    monkeypatch.setattr("valvey.loop.replay.step", shifted)
    (found,) = replay(path, {"loop": run})
    assert not found.equal
    assert found.difference is not None
    assert found.difference.what == "decisions"
    assert json.dumps(found.document())

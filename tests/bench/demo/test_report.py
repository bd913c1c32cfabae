"""What the demo leaves behind: report.json as pinned, pages and pictures that say SIMULATED and how fast time ran."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.demo.alarms import counts, not_counted
from bench.demo.claims import Claim
from bench.demo.leak import _times
from bench.demo.options import Options
from bench.demo.outcome import Outcome, Rows
from bench.demo.plots import Line, Plot, sheet, thinned
from bench.demo.report import write_reports
from bench.demo.shortage import _unfair_pct

MESSAGES = {"published": 10, "observed": 9, "invalid": 0}
TIMES = {"setup_s": 0.1, "startup_s": 1.5, "duration_s": 80.0}


def outcome(act: str = "leak", speed: float = 1.0, measured: float = 1.0) -> Outcome:
    plot = Plot("flow", "L/min", [0.0, 1.0, 2.0], [Line("r01 <&>", [1.0, 2.0, 3.0])])
    claim = Claim(f"{act}.figure", "a figure", measured, "<=", 2.0, "s")
    rows = Rows("the racks", ("rack", "kW"), [("r01", "132")])
    return Outcome(
        {"id": act, "speed": speed}, [claim], f"Act {act}", "A story.", [plot], "s", "s", [(0.5, "it began")], [rows]
    )


def written(folder: Path, *outcomes: Outcome) -> tuple[dict[str, Any], str]:
    own = Claim("demo.startup", "start-up", 1.5, "<=", 3.0, "s")
    said = write_reports(Options(out=folder), "mosquitto", outcomes, [own], MESSAGES, TIMES)
    report: dict[str, Any] = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert report == said
    return report, (folder / "report.html").read_text(encoding="utf-8")


def test_the_report_has_the_pinned_keys_and_every_claim_of_every_act(tmp_path: Path) -> None:
    report, page = written(tmp_path, outcome(), outcome("service", 5.0))
    pinned = "schema version commit seed broker cdu_mode setup_s startup_s duration_s acts messages claims ok"
    assert set(pinned.split()) <= report.keys()
    assert report["schema"] == "demo-report/1"
    assert [claim["id"] for claim in report["claims"]] == ["leak.figure", "service.figure", "demo.startup"]
    assert [act["speed"] for act in report["acts"]] == [1.0, 5.0]
    assert (report["ok"], report["messages"]) == (True, MESSAGES)
    assert "SIMULATED" in page


def test_a_claim_that_fails_fails_the_report_and_is_said(tmp_path: Path) -> None:
    report, page = written(tmp_path, outcome(measured=3.0))
    assert not report["ok"]
    assert "Not every claim holds" in page
    assert "FAILS" in page


def test_a_page_says_how_fast_time_ran(tmp_path: Path) -> None:
    assert "in real time" in written(tmp_path, outcome())[1]
    hurried = written(tmp_path, outcome(speed=5.0))[1]
    assert "at SPEED 5: plant and daemons run 5 times as fast as the wall clock" in hurried
    assert "in real time" not in hurried


def test_every_act_has_a_picture_of_its_own_and_the_first_is_the_picture(tmp_path: Path) -> None:
    written(tmp_path, outcome(), outcome("service"))
    assert (tmp_path / "picture.svg").read_text() == (tmp_path / "picture-leak.svg").read_text()
    assert (tmp_path / "picture-service.svg").exists()


def test_a_page_shows_a_script_as_text_and_lets_none_run(tmp_path: Path) -> None:
    script = "<img src=x onerror=alert(1)>"
    hostile = outcome()
    hostile.timeline.append((1.0, script))
    hostile.tables.append(Rows(script, (script,), [(script,)]))
    page = written(tmp_path, hostile)[1]
    assert script not in page
    assert page.count("&lt;img src=x onerror=alert(1)&gt;") == 4
    assert "default-src 'none'" in page
    assert "<script" not in page


def test_a_picture_escapes_what_is_written_into_it_and_labels_its_axis() -> None:
    drawn = sheet(outcome().plots, "s after the hole")
    assert "r01 &lt;&amp;&gt;" in drawn
    assert "s after the hole" in drawn


def test_a_curve_keeps_its_shape_with_few_points() -> None:
    assert thinned([1.0, 2.0]) == [1.0, 2.0]
    many = thinned([float(n) for n in range(10_000)], most=500)
    assert len(many) == 500
    assert many[:2] == [0.0, 20.0]


def test_with_hurried_time_alarms_of_links_tell_of_the_machine_and_are_named_as_not_counted() -> None:
    assert counts("link-cdu", 1.0)
    assert not counts("link-cdu", 5.0)
    assert counts("flow-hunting", 5.0)
    assert (not_counted(1.0), not_counted(5.0)) == ("", ", but those of links, which count at SPEED 1 only")


def stamp(at_s: float, kind: str, what: str, value: int, sim_s: float = 0.0) -> dict[str, Any]:
    return {"mono_ns": round(at_s * 1e9), "sim_s": sim_s, "kind": kind, "what": what, "value": value}


def test_the_leaks_times_are_the_simulators_own_stamps_less_the_hold() -> None:
    times = _times(
        [
            stamp(10.0, "register", "LDT-101", 1),
            stamp(10.53, "command", "XV-101 command", 0),
            stamp(10.60, "command", "XV-101 command", 0),
            stamp(14.0, "register", "ZSC-101", 1),
            stamp(17.5, "register", "ZSC-102", 1),
        ],
        hurried=False,
    )
    assert times.write_ms == pytest.approx(30.0)
    assert times.shut_s == pytest.approx(7.5)
    assert times.timeline[0] == (0.0, "the leak panel sets LDT-101")


def test_a_valve_that_never_proves_shut_has_no_time() -> None:
    half = [stamp(10.0, "register", "LDT-101", 1), stamp(14.0, "register", "ZSC-101", 1)]
    assert _times(half, hurried=False).shut_s is None
    assert _times([], hurried=False).write_ms is None


def test_a_hurried_leak_is_timed_in_simulated_seconds_and_claims_no_latency() -> None:
    times = _times(
        [
            stamp(10.0, "register", "LDT-101", 1, sim_s=100.0),
            stamp(10.1, "command", "XV-101 command", 0, sim_s=100.5),
            stamp(10.9, "register", "ZSC-101", 1, sim_s=104.5),
            stamp(11.5, "register", "ZSC-102", 1, sim_s=107.5),
        ],
        hurried=True,
    )
    assert times.write_ms is None
    assert times.shut_s == pytest.approx(7.5)


def test_a_rack_that_is_served_worse_than_one_of_lower_priority_is_found() -> None:
    racks = [{"priority": 1, "share_pct": 90.0}, {"priority": 2, "share_pct": 93.0}, {"priority": 2, "share_pct": 80.0}]
    assert _unfair_pct(racks) == 3.0
    assert _unfair_pct(racks[:1]) == 0.0
    assert _unfair_pct(racks[1:]) == 0.0

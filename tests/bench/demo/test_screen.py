"""What the demo shows while it runs, on a terminal and in a file."""

from io import StringIO

from rich.console import Console

from bench.demo.asking import Progress
from bench.demo.listener import Listener, News
from bench.demo.screen import Screen, shown_speed


def bus() -> Listener:
    made = Listener("localhost", 1, "demo", lambda _node, _event: None)
    made.racks["r03"] = News(
        state={"state": "DRAINING", "step": "drain", "latches": []},
        points={"FT-101": {"value": 0.4, "quality": "GOOD"}, "XI-101": {"value": 0.0, "quality": "GOOD"}},
    )
    return made


def drain(percent: float, step: str = "drain") -> Progress:
    return Progress("r03", "drain", step, percent, 100.0 - percent)


def test_a_terminal_shows_racks_progress_and_story_and_how_fast_time_runs() -> None:
    out = StringIO()
    with Screen(Console(file=out, force_terminal=True, width=120), "SIMULATED, at a speed", 5.0) as screen:
        screen.say("the drain begins")
        screen.progress(drain(40.0))
        screen.show(bus())
    text = out.getvalue()
    for said in (
        "SIMULATED, SPEED 5",
        "DRAINING drain",
        "drain: 40 %, 60 s left (12 s at SPEED 5)",
        "the drain begins",
    ):
        assert said in text


def test_a_file_gets_a_line_for_each_step_and_each_fifth_of_the_way() -> None:
    out = StringIO()
    with Screen(Console(file=out, width=120), "SIMULATED", 1.0) as screen:
        for now in (drain(0.0, "vent"), drain(1.0, "vent"), drain(2.0), drain(19.0), drain(21.0), drain(39.0), None):
            screen.progress(now)
            screen.show(bus())
    lines = [line.split("  ", 2)[-1] for line in out.getvalue().splitlines()]
    assert [line.split("drain: ")[1].split(",")[0] for line in lines] == ["0 %", "2 %", "21 %"]


def test_real_time_is_not_mentioned() -> None:
    assert (shown_speed(1.0), shown_speed(5.0)) == ("SIMULATED", "SIMULATED, SPEED 5")

"""What `make demo` may be told: errors name what was wrong and what is allowed, before anything starts."""

import pytest

from bench.demo.__main__ import stage_options
from bench.demo.acts import ACTS
from bench.demo.options import MOST_SPEED, parse
from firmware_sim.bench_config import MAX_SPEED


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        parse(list(arguments))
    assert ended.value.code == 2
    return capsys.readouterr().err


def test_without_anything_act_1_is_played_at_its_own_speed() -> None:
    options, acts, speed = parse([])
    assert [act.id for act in acts] == ["leak"]
    assert speed is None
    assert (options.mode, options.seed, options.keep, options.mqtt) == ("constant_dp", 1, False, None)


@pytest.mark.parametrize(("asked", "racky"), [([], True), (["--no-racky"], False), (["--act", "4"], True)])
def test_a_racky_runs_beside_each_valvey_unless_somebody_says_otherwise(asked: list[str], racky: bool) -> None:
    options, (act,), speed = parse(asked)
    assert stage_options(act, speed, options).racky is racky


def test_all_plays_every_act_in_order() -> None:
    _, acts, _ = parse(["--act", "all"])
    assert acts == tuple(ACTS.values())


def test_acts_whose_times_are_claimed_run_in_real_time_and_the_hurried_are_known_to_the_simulator() -> None:
    assert ACTS["1"].speed == 1.0
    assert MOST_SPEED <= MAX_SPEED
    assert all(1.0 <= act.speed <= MOST_SPEED for act in ACTS.values())


@pytest.mark.parametrize("act", ["5", "0", "leak", ""])
def test_an_act_that_is_not_there_is_refused_with_those_that_are(act: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "--act", act)
    assert f"ACT={act}: this version has 1 (leak), 2 (service), 3 (shortage), 4 (admission), or all" in said


@pytest.mark.parametrize("speed", ["0", "-1", "0.5", "21", "fast", "nan", "inf"])
def test_a_speed_out_of_bounds_is_refused_with_the_bounds(speed: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, f"--speed={speed}")
    assert f"SPEED={speed}: a number from 1 (real time) to 20" in said


@pytest.mark.parametrize(("name", "value", "told"), [("--seed", "-3", "SEED=-3"), ("--mode", "turbo", "constant_flow")])
def test_what_else_is_wrong_is_named(name: str, value: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert told in refused(capsys, f"{name}={value}")


def test_a_speed_that_is_asked_for_wins_over_the_acts() -> None:
    assert parse(["--act", "2", "--speed", "2"])[2] == 2.0

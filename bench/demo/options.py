"""What the demo can be told, checked before anything starts."""

import argparse
from dataclasses import dataclass
from pathlib import Path

from bench.demo.acts import ACTS, Act
from firmware_sim.plant_config import CduMode

ROOT = Path(__file__).resolve().parents[2]
MOST_SPEED = 20.0
"""Beyond it four Valveys of 50 ms scans ask for more than a laptop has."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a stage is set for.

    speed      simulated seconds per second;  fast_s  the Valveys' scan in simulated ones
    racky      racks with power shelves, and a Racky beside each Valvey
    newcomers  racks that are not in service yet
    """

    act: str = "1"
    mode: str = "constant_dp"
    seed: int = 1
    speed: float = 1.0
    mqtt: str | None = None
    keep: bool = False
    racks: int = 4
    coordinator: bool = False
    racky: bool = True
    newcomers: tuple[str, ...] = ()
    fast_s: float = 0.02
    picture: Path | None = None
    out: Path = ROOT / "build" / "demo"


def parse(arguments: list[str]) -> tuple[Options, tuple[Act, ...], float | None]:
    """Return the options, the acts to play, and the speed asked for (None: each act's own). Ends the process with 2."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.demo",
        description="Four racks on one CDU, live. Everything is SIMULATED.",
        epilog="acts: " + "; ".join(f"{act.number}: {act.title} (SPEED {act.speed:g})" for act in ACTS.values()),
    )
    parser.add_argument("--act", type=_act, default="1", metavar="N", help="which act, or 'all' one after the other")
    parser.add_argument(
        "--mode", default="constant_dp", choices=[mode.name.lower() for mode in CduMode], help="what the CDU holds"
    )
    parser.add_argument("--seed", type=_seed, default=1, help="of the noise of every sensor")
    parser.add_argument(
        "--speed",
        type=_speed,
        default=None,
        metavar="N",
        help="simulated seconds per second, of plant and Valveys alike; figures of latency are claimed at 1 only",
    )
    parser.add_argument("--mqtt", default=None, metavar="HOST:PORT", help="use this broker")
    parser.add_argument(
        "--racky",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="racks with power shelves, and a Racky beside each Valvey",
    )
    parser.add_argument("--keep", action="store_true", help="leave everything running until Ctrl-C")
    parser.add_argument(
        "--picture", type=Path, default=None, help="write the picture there as well, e.g. for the README"
    )
    parser.add_argument("--out", type=Path, default=Options().out)
    given = parser.parse_args(arguments)
    acts = tuple(ACTS.values()) if given.act == "all" else (ACTS[given.act],)
    options = Options(
        act=given.act,
        mode=given.mode,
        seed=given.seed,
        mqtt=given.mqtt,
        keep=given.keep,
        racky=given.racky,
        picture=given.picture,
        out=given.out.resolve(),
    )
    return options, acts, given.speed


def _act(text: str) -> str:
    if text != "all" and text not in ACTS:
        known = ", ".join(f"{act.number} ({act.id})" for act in ACTS.values())
        raise argparse.ArgumentTypeError(f"ACT={text}: this version has {known}, or all")
    return text


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = float("nan")
    if not 1.0 <= speed <= MOST_SPEED:
        raise argparse.ArgumentTypeError(
            f"SPEED={text}: a number from 1 (real time) to {MOST_SPEED:g}, simulated seconds per second"
        )
    return speed


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"SEED={text}: a whole number from 0")
    return int(text)

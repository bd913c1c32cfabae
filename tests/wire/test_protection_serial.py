"""A rack whose valves, leak panel and meters hang on serial lines: guarded, and isolated in time."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.rig import RackPlan, Rig
from tests.wire.rig import COMMANDS, changes, seconds, wet
from valvey.config import load
from valvey.lines import line_plans

FAST_S = 0.05
HOLD_S = 0.2
"""Of every demand in the first five seconds after the adoption."""
SLOP_S = 0.1
"""What a machine that others use too may add."""


def line(name: str, folder: Path, baud: int, units: dict[int, str]) -> dict[str, Any]:
    return {"name": name, "kind": "pty", "baud": baud, "units": units, "link": str(folder / name)}


def bus(folder: Path, name: str, baud: int, unit: int, profile: str, **more: Any) -> dict[str, Any]:
    port = {"port": str(folder / name), "baud": baud, "parity": "E", "stop_bits": 1}
    return {"rtu": port, "unit": unit, "profile": profile, "timeout_s": 0.15, "late_reply_s": 0.5, **more}


@contextmanager
def rack_on_lines(folder: Path) -> Generator[Rig, None, None]:
    """Valve controller on a line of its own; leak panel and bus-bar meter share one; the feeder meter has 19200 8E1."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        line("valves", folder, 115200, {1: "r01/valve_controller"}),
        line("panel", folder, 115200, {3: "r01/leak_panel", 4: "r01/busbar_meter"}),
        line("feeder", folder, 19200, {1: "r01/feeder_meter"}),
    ]
    buses = {
        "valve_controller": bus(folder, "valves", 115200, 1, "racky_valve-controller", write_connection="shared"),
        "leak_panel": bus(folder, "panel", 115200, 3, "racky_leak-panel"),
        "busbar_meter": bus(folder, "panel", 115200, 4, "racky_busbar-meter"),
        "feeder_meter": bus(folder, "feeder", 19200, 1, "schneider_pm5xxx"),
    }
    changed = {
        "buses": buses,
        "scan": {"fast_s": FAST_S, "normal_s": 0.2, "slow_s": 60.0},
        "shared_path": {"accepted_by": "the bench"},
    }
    with Rig(folder / "rig", [RackPlan("r01", changes=changed)], lines=lines) as rig:
        since = rig.mark()
        rig.start()
        rig.await_adopted(since, within_s=10.0)
        yield rig


def isolates_in_time(rig: Rig) -> None:
    plans = {plan.way.rpartition("/")[2]: plan for plan in line_plans(load(rig.config("r01")))}
    since = wet(rig, "r01")
    seen = rig.await_stamp(since, "r01", "LDT-101", 1.0)
    shut = rig.await_stamp(since, "r01", "XV-101 command", 0.0)
    dark = rig.await_stamp(since, "r01", "XS-101 command", 0.0)
    way_s = plans["panel"].cycle_s("fast") + plans["valves"].cycle_s("fast")
    most_s = HOLD_S + 3 * FAST_S + way_s + SLOP_S
    assert HOLD_S <= seconds(seen, shut) <= most_s
    assert seconds(seen, dark) <= most_s
    assert rig.await_stamp(since, "r01", "ZSC-101", 1.0, within_s=10.0)


def test_a_rack_on_serial_lines_is_left_as_found_and_isolated_in_time_when_it_leaks(tmp_path: Path) -> None:
    with rack_on_lines(tmp_path) as rig:
        assert changes(rig.stamps(0, "r01"), COMMANDS) == []
        isolates_in_time(rig)


def test_a_silent_neighbour_on_the_line_of_the_leak_panel_does_not_make_a_leak_wait(tmp_path: Path) -> None:
    with rack_on_lines(tmp_path) as rig:
        rig.ask("fault_add", kind="line_noise", device="panel", value=2)
        rig.ask("fault_add", kind="no_reply", rack="r01", device="busbar_meter")
        isolates_in_time(rig)

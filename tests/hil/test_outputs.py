"""What the outputs do when nobody speaks, and how the valves move."""

import signal
from collections.abc import Callable

import pytest

from bench.hil.file import COILS, SWITCHES
from bench.hil.plan import FAST, OUTPUTS, Plan, Stand
from bench.hil.real import RealRack
from bench.hil.stand import Rack
from bench.hil.strokes import strokes
from valvey.writer import REFRESH_S

VALVES = ("XV-101", "XV-102", "XV-103", "XV-104")
RESTORE = "afterwards: reset what is latched and bring the rack back into service"


@pytest.mark.destructive
@pytest.mark.does(Plan(Stand.IN_SERVICE, OUTPUTS, person=(RESTORE,), speed=FAST))
def test_outputs_that_nobody_refreshes_fall_by_themselves_in_the_declared_time(
    rack: Rack, measured: Callable[..., None]
) -> None:
    declared = {"XS-101": rack.config.permit_expiry_s, "XV-101": rack.config.valves_expiry_s}
    declared["XV-102"] = declared["XV-101"]
    silent_s = rack.watch.now_s()
    rack.kill_guard()
    most_s = max(one or 0.0 for one in declared.values()) + 5.0
    fell = {tag: rack.seconds(silent_s, rack.wait_for(COILS[tag], 0.0, silent_s, most_s)) for tag in declared}
    tolerance_s = (
        rack.bench.data.expiry_tolerance_s + REFRESH_S + 0.1 * rack.speed
    )  # the last refresh may be a period old
    for tag, after_s in fell.items():
        measured(f"{tag} fell after", f"{after_s:.2f} s", f"{declared[tag]} s, {tolerance_s:g} s earlier or later")
    assert fell["XS-101"] < fell["XV-101"], "power goes before coolant does"
    assert {tag for tag, after_s in fell.items() if abs(after_s - (declared[tag] or 0.0)) > tolerance_s} == set()


@pytest.mark.destructive
@pytest.mark.parametrize("valve", VALVES)
@pytest.mark.does(
    Plan(Stand.ISOLATED, VALVES, by="bench", speed=FAST, person=("see that {valve} may be opened and shut",))
)
def test_each_valve_strokes_in_the_declared_time(rack: Rack, valve: str, measured: Callable[..., None]) -> None:
    if valve not in rack.bench.data.valves:
        pytest.skip(f"{valve} is not in the bench's file")
    declared, found = rack.bench.data.valves[valve], strokes(rack, valve)
    if declared.open_s is not None and found.opened_s is not None:
        bound = f"{declared.open_s:g} s, {declared.tolerance_s:g} s more or less"
        measured("open", f"{found.opened_s:.2f} s", bound)
        assert abs(found.opened_s - declared.open_s) <= declared.tolerance_s
    measured("shut", f"{found.shut_s:.2f} s", f"{declared.shut_s:g} s, {declared.tolerance_s:g} s more or less")
    assert abs(found.shut_s - declared.shut_s) <= declared.tolerance_s


@pytest.mark.destructive
@pytest.mark.parametrize("valve", VALVES)
@pytest.mark.does(
    Plan(Stand.ISOLATED, VALVES, by="bench", speed=FAST, person=("see that {valve} may be opened and shut",))
)
def test_the_limit_switches_of_each_valve_agree_with_its_coil(rack: Rack, valve: str) -> None:
    if valve not in rack.bench.data.valves:
        pytest.skip(f"{valve} is not in the bench's file")
    found = strokes(rack, valve)
    assert found.both == 0, "open and shut at once"
    assert found.others == [], "another valve's switch moved"
    assert found.ends == ([0.0, 1.0] if SWITCHES[valve][0] is None else [0.0, 1.0, 1.0, 0.0])


@pytest.mark.does(Plan(Stand.IN_SERVICE, OUTPUTS))
def test_a_restart_of_valvey_leaves_every_output_as_found(rack: Rack, measured: Callable[..., None]) -> None:
    watched = [*COILS.values(), "XI-101", "ZSO-101", "ZSO-102", "ZSC-103", "ZSC-104"]
    before = {tag: rack.watch.latest(tag).value for tag in watched}
    begun_s, known = rack.watch.now_s(), len(rack.states())
    rack.kill_guard(signal.SIGTERM)
    assert rack.guard.lives[-1].code == 0
    rack.start_guard()
    rack.watch.wait(
        lambda: True if len(rack.states()) > known and not rack.wrong() else None,
        15.0,
        "in service again",
    )
    moved = {tag: [one for one in rack.watch.since(tag, begun_s) if one.value != before[tag]] for tag in watched}
    measured("back in service after", f"{rack.watch.now_s() - begun_s:.2f} s", f"{rack.config.permit_expiry_s} s")
    assert {tag: samples[:1] for tag, samples in moved.items() if samples} == {}


@pytest.mark.hil_only
@pytest.mark.destructive
@pytest.mark.does(
    Plan(Stand.IN_SERVICE, OUTPUTS, person=("switch the valve controller's supply off, and on again", RESTORE))
)
def test_a_valve_controller_that_lost_its_supply_starts_with_every_output_off(rack: RealRack) -> None:
    begun_s = rack.watch.now_s()
    rack.ask("switch the valve controller's supply off, wait 5 s, and switch it on again")
    bus = rack.config.data.tags["XV-101"].bus
    rack.watch.wait(
        lambda: True if any(one.value is None for one in rack.watch.since("XY-101", begun_s)) else None,
        rack.bench.data.operator_s,
        "the supply off",
    )
    rack.heal(bus)
    assert rack.watch.holds(dict.fromkeys(COILS.values(), 0.0)) == []

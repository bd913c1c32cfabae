"""The wiring W1..W4: what holds without software."""

import pytest

from firmware_sim.parts.wiring import (
    XS_101,
    XV_101,
    XV_102,
    XV_103,
    XV_104,
    BufferedSupply,
    Contacts,
    EmergencyStop,
    Wiring,
)

ALL_ON = [True] * 5


def contacts(**changes: bool) -> Contacts:
    """Both isolation valves open, nothing pressed."""
    seen = Contacts(zso_101=True, zsc_101=False, zso_102=True, zsc_102=False)
    for name, value in changes.items():
        setattr(seen, name, value)
    return seen


def on(wiring: Wiring) -> set[int]:
    return {coil for coil, energised in enumerate(wiring.coils) if energised}


def test_w1_the_emergency_stop_drops_every_coil_without_the_controller() -> None:
    wiring = Wiring()
    wiring.settle([True, True, False, True, True], contacts())
    assert on(wiring) == {XV_101, XV_102, XV_104, XS_101}
    wiring.settle([True, True, False, True, True], contacts(stop_healthy=False))
    assert on(wiring) == set()


def test_w1_needs_the_release_and_a_reset_at_the_button() -> None:
    stop = EmergencyStop()
    stop.press()
    assert not stop.reset()
    stop.release()
    assert not stop.healthy
    assert stop.reset()
    assert stop.healthy


def test_w1_a_broken_wire_is_a_pressed_button() -> None:
    stop = EmergencyStop()
    stop.break_wire()
    assert not stop.healthy
    assert not stop.reset()


def test_w1_after_the_reset_each_coil_waits_for_its_own_command_to_be_off_once() -> None:
    wiring = Wiring()
    outputs = [True, True, False, False, True]
    wiring.settle(outputs, contacts(stop_healthy=False))
    wiring.settle(outputs, contacts())
    assert on(wiring) == set()
    wiring.settle([False, True, False, False, True], contacts())
    wiring.settle(outputs, contacts())
    assert on(wiring) == {XV_101}
    assert wiring.sealed_by_stop == [False, True, False, False, True]


def test_w1_a_command_given_while_pressed_does_not_act_at_the_reset() -> None:
    wiring = Wiring()
    wiring.settle([False] * 5, contacts(stop_healthy=False))
    wiring.settle(ALL_ON, contacts(stop_healthy=False))
    wiring.settle(ALL_ON, contacts())
    assert on(wiring) == set()


@pytest.mark.parametrize("valve", ["zsc_101", "zsc_102"])
def test_w2_either_valve_fully_shut_drops_the_permit_and_seals_it(valve: str) -> None:
    wiring = Wiring()
    outputs = [True, True, False, False, True]
    wiring.settle(outputs, contacts())
    assert XS_101 in on(wiring)
    wiring.settle(outputs, contacts(**{valve: True}))
    assert on(wiring) == {XV_101, XV_102}
    wiring.settle(outputs, contacts())
    assert XS_101 not in on(wiring)
    wiring.settle([True, True, False, False, False], contacts())
    wiring.settle(outputs, contacts())
    assert XS_101 in on(wiring)


def test_w2_a_partial_stroke_does_not_drop_the_permit() -> None:
    wiring = Wiring()
    outputs = [True, True, False, False, True]
    wiring.settle(outputs, contacts())
    wiring.settle(outputs, contacts(zso_101=False))
    assert XS_101 in on(wiring)


def test_w3_the_24_v_live_20_s_without_their_mains_and_not_longer() -> None:
    supply = BufferedSupply()
    assert supply.step(mains=False, dt_s=19.99)
    assert not supply.step(mains=False, dt_s=0.02)
    assert supply.step(mains=True, dt_s=0.01)


@pytest.mark.parametrize(
    ("changes", "allowed"),
    [
        ({"zsc_101": True, "zsc_102": True}, True),
        ({"zsc_101": True}, False),
        ({"zsc_102": True}, False),
        ({"zsc_101": True, "zsc_102": True, "sump_not_high": False}, False),
        ({"zsc_101": True, "zsc_102": True, "stop_healthy": False}, False),
    ],
)
def test_w4_the_drain_valve_needs_both_valves_shut_and_the_sump_not_high(
    changes: dict[str, bool], allowed: bool
) -> None:
    wiring = Wiring()
    wiring.settle([False, False, True, False, False], contacts(**changes))
    assert (XV_103 in on(wiring)) is allowed


def test_w4_releases_by_itself() -> None:
    wiring = Wiring()
    shut = {"zsc_101": True, "zsc_102": True}
    wiring.settle([False, False, True, False, False], contacts(**shut, sump_not_high=False))
    wiring.settle([False, False, True, False, False], contacts(**shut))
    assert on(wiring) == {XV_103}

"""The leak panel: its delay, its three bits, and cables that never read as dry."""

import pytest

from firmware_sim.parts.leak_panel import LeakPanel
from firmware_sim.parts.registers import Answer

WET, BROKEN, DIRTY = 1, 2, 4


def run(panel: LeakPanel, start_s: float, end_s: float) -> None:
    for n in range(round((end_s - start_s) / 0.02)):
        panel.step(start_s + (n + 1) * 0.02, 0.02)


def test_a_zone_is_shown_wet_only_after_the_delay_and_dry_at_once() -> None:
    panel = LeakPanel()
    panel.zones["LDT-101"].wet = True
    run(panel, 0.0, 4.98)
    assert panel.input.get_u16(0) == 0
    run(panel, 4.98, 5.0)
    assert panel.input.get_u16(0) == WET
    panel.zones["LDT-101"].wet = False
    run(panel, 5.0, 5.02)
    assert panel.input.get_u16(0) == 0


def test_an_interrupted_wetting_starts_the_delay_again() -> None:
    panel = LeakPanel()
    zone = panel.zones["LDT-102"]
    zone.wet = True
    run(panel, 0.0, 4.0)
    zone.wet = False
    run(panel, 4.0, 4.1)
    zone.wet = True
    run(panel, 4.1, 9.0)
    assert panel.input.get_u16(1) == 0
    run(panel, 9.0, 9.12)
    assert panel.input.get_u16(1) == WET


def test_a_hand_wetted_detector_can_show_at_once() -> None:
    panel = LeakPanel()
    panel.zones["LDT-103"].wetted_by_hand = panel.zones["LDT-103"].at_once = True
    panel.zones["LDT-103"].distance_m = 4.2
    panel.step(0.0, 0.0)
    assert panel.input.get_u16(2) == WET
    assert panel.input.get_u16(3) == 42
    assert panel.input.get_u16(5) > 100


def test_a_broken_cable_is_neither_dry_nor_wet() -> None:
    panel = LeakPanel()
    panel.zones["LDT-101"].broken = panel.zones["LDT-101"].wet = True
    run(panel, 0.0, 6.0)
    assert panel.input.get_u16(0) == BROKEN


def test_contamination_has_its_own_longer_delay() -> None:
    panel = LeakPanel()
    panel.zones["LDT-101"].contaminated = True
    run(panel, 0.0, 119.9)
    assert panel.input.get_u16(0) == 0
    run(panel, 119.9, 120.1)
    assert panel.input.get_u16(0) == DIRTY


@pytest.mark.parametrize("delay_s", [0, 4, 996])
def test_a_delay_out_of_range_is_refused(delay_s: int) -> None:
    panel = LeakPanel()
    assert panel.write_registers(15, [delay_s], 0.0) is Answer.ILLEGAL_VALUE
    assert panel.holding.get_u16(15) == 5


def test_a_set_delay_holds_and_outlives_a_restart() -> None:
    panel = LeakPanel()
    assert panel.write_registers(15, [7, 60], 0.0) is Answer.OK
    panel.start(1.0)
    panel.zones["LDT-101"].wet = True
    run(panel, 1.0, 7.9)
    assert panel.input.get_u16(0) == 0
    run(panel, 7.9, 8.1)
    assert panel.input.get_u16(0) == WET

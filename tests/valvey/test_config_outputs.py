"""Which real devices may carry the permit and the isolation valves, and what is said of those that may not."""

from pathlib import Path

import pytest

from tests.valvey import racks

BUS = "  cdu:              {tcp:"
FIRST = (
    '  relays:           {tcp: "192.168.10.16:502", unit: 1, profile: PROFILE, timeout_s: 0.25, '
    "write_connection: shared}\n"
)


def on(profile: str, tag: str, point: str, old: str) -> tuple[tuple[str, str], ...]:
    """Edits that put ``tag`` on ``point`` of another device."""
    return (BUS, FIRST.replace("PROFILE", profile) + BUS), (
        f"{tag}:  {{bus: valve_controller, point: {old}}}",
        f"{tag}:  {{bus: relays, point: {point}}}",
    )


@pytest.mark.parametrize("tag", ["XS-101", "XV-101", "XV-102", "XV-103", "XV-104"])
@pytest.mark.parametrize(
    ("profile", "point"), [("waveshare_relay-8ch", "relay_1"), ("moxa_iologik-e1242", "do_0"), ("racky_cdu", "mode_sp")]
)
def test_a_device_whose_outputs_hold_is_refused_with_its_line_and_what_to_do(
    tmp_path: Path, profile: str, point: str, tag: str
) -> None:
    edits = on(profile, tag, point, tag.lower().replace("-", "_"))
    found = [fault for fault in racks.faults(tmp_path, *edits) if fault.key == f"tags.{tag}"]
    text = racks.text_with(*edits).splitlines()
    assert [fault.line for fault in found] == [1 + next(n for n, row in enumerate(text) if f"  {tag}:" in row)]
    told = str(found[0])
    assert f"{profile} has no expiry for {point}: a device whose outputs hold for ever may not carry {tag}" in told
    assert "docs/devices/README.md" in told
    assert "relay with a write watchdog" in told


def test_a_watchdog_that_is_off_as_delivered_counts_as_none(tmp_path: Path) -> None:
    edits = on("belimo_energy-valve-v4", "XV-101", "set_point", "xv_101")
    found = {fault.key: fault for fault in racks.faults(tmp_path, *edits)}
    assert "leaves the factory with bus_watchdog, the watchdog of set_point, off" in found["tags.XV-101"].message
    assert "wrong unit: XV-101" in found["tags.XV-101.point"].message


def energy_valve(point: str) -> tuple[tuple[str, str], ...]:
    """Edits that make a Belimo Energy Valve the rack's FCV-101, its position read at ``point``."""
    bus, _ = on("belimo_energy-valve-v4", "", "", "")
    return (
        bus,
        ("FCV-101: {bus: valve_controller, point: fcv_101}", "FCV-101: {bus: relays, point: set_point}"),
        ("{bus: valve_controller, point: zt_101", f"{{bus: relays, point: {point}"),
    )


def test_an_energy_valve_may_be_the_racks_flow_control_valve_though_it_holds(tmp_path: Path) -> None:
    assert racks.faults(tmp_path, *energy_valve("position")) == ()


def test_its_position_has_to_be_a_position(tmp_path: Path) -> None:
    (fault,) = racks.faults(tmp_path, *energy_valve("position_angle"))
    assert fault.key == "tags.ZT-101.point"
    assert "wrong unit: ZT-101 is in %open, position_angle of belimo_energy-valve-v4 is in deg" in fault.message


def test_in_the_valves_own_device_it_stands_fifth(tmp_path: Path) -> None:
    edit = ("FCV-101: {bus: valve_controller, point: fcv_101}", "FCV-101: {bus: valve_controller, point: stroke_test}")
    found = {fault.key: fault for fault in racks.faults(tmp_path, edit)}
    assert "tags.FCV-101.point" in found

"""The plan of a commissioning: from the configuration alone, and nothing of the rack left unsaid."""

from dataclasses import replace
from pathlib import Path

from tests.valvey.racks import rack
from valvey.commissioning.line import Kind, is_off, is_on, tolerance
from valvey.commissioning.plan import lines_of, not_covered


def test_every_tag_of_the_rack_is_spoken_for_or_named_with_the_reason_why_not(tmp_path: Path) -> None:
    config = rack(tmp_path)
    spoken = {tag for line in lines_of(config) for tag in line.tags}
    left = not_covered(config)
    assert spoken | left.keys() == config.data.tags.keys()
    assert spoken.isdisjoint(left)
    assert "no line speaks for it" not in left.values()
    assert {tag[:3] for tag in left} == {"LDA", "XK-", "XKF", "XKI", "XKP"}


def test_lines_have_names_of_their_own_and_stand_in_the_order_in_which_they_are_done(tmp_path: Path) -> None:
    lines = lines_of(rack(tmp_path))
    assert len({line.id for line in lines}) == len(lines)
    kinds = [line.kind for line in lines]
    assert [kind for n, kind in enumerate(kinds) if n == 0 or kinds[n - 1] is not kind] == [
        Kind.DEVICE, Kind.POINT, Kind.ORDER, Kind.CONTACT, Kind.LEAK, Kind.VALVE, Kind.THROTTLE, Kind.PERMIT,
        Kind.INTERLOCK, Kind.EXPIRY,
    ]  # fmt: skip


def test_each_line_names_the_devices_that_take_part(tmp_path: Path) -> None:
    lines = {line.id: line for line in lines_of(rack(tmp_path))}
    assert lines["device/cdu"].buses == {"cdu"}
    assert lines["order/feeder_meter"].buses == {"feeder_meter"}
    assert lines["leak/LDT-103"].buses == {"leak_panel"}
    assert lines["expiry/service"].buses == lines["interlock/W1"].buses == {"valve_controller"}


def test_a_device_of_single_registers_has_no_word_order_to_show(tmp_path: Path) -> None:
    ids = {line.id for line in lines_of(rack(tmp_path))}
    assert {"order/transmitters", "order/feeder_meter"} <= ids
    assert not {"order/valve_controller", "order/leak_panel"} & ids


def test_expiries_are_those_that_the_file_states_else_the_devices_own(tmp_path: Path) -> None:
    lines = {line.id: line for line in lines_of(rack(tmp_path))}
    assert lines["expiry/service"].expected == {"XS-101": 8.0, "XV-101": 15.0, "XV-102": 15.0}
    stated = rack(tmp_path, ("limits:\n", "expiries: {permit_s: 7.0, valves_s: 14.0}\nlimits:\n"))
    lines = {line.id: line for line in lines_of(stated)}
    assert lines["expiry/service"].expected == {"XS-101": 7.0, "XV-101": 14.0, "XV-102": 14.0}


def test_wiring_that_is_waived_is_not_tried(tmp_path: Path) -> None:
    config = rack(tmp_path, ("{W1: wired, W2: wired,", "{W1: wired, W2: {waived_by: ann lee},"))
    assert [line.subject for line in lines_of(config) if line.kind is Kind.INTERLOCK] == ["W1"]


def test_a_rack_that_shares_its_loop_has_the_cdus_mode_to_show(tmp_path: Path) -> None:
    config = rack(tmp_path, ("loop: none ", "loop: cdu1 "))
    (line,) = (line for line in lines_of(config) if line.kind is Kind.CDU)
    assert line.expected == {"pt_101_below_kpa": 540.0}


def test_trays_that_tell_by_broker_are_named_as_not_covered(tmp_path: Path) -> None:
    config = rack(tmp_path)
    config = replace(config, data=config.data.model_copy(update={"trays": ("u11",)}))
    assert "broker" in not_covered(config)["TRAY-u11"]


def test_a_tolerance_is_a_share_of_the_value_and_never_less_than_the_units_own() -> None:
    assert (tolerance("L/min", 0.0), tolerance("L/min", 200.0)) == (2.0, 6.0)
    assert (tolerance("degC", 90.0), tolerance("kPa", -1000.0)) == (1.0, 20.0)
    assert tolerance("Hz", 50.0) == 1.0


def test_a_contact_that_is_not_known_is_neither_on_nor_off() -> None:
    assert (is_on(None), is_off(None)) == (False, False)
    assert (is_on(1.0), is_off(1.0), is_on(0.0), is_off(0.0)) == (True, False, False, True)

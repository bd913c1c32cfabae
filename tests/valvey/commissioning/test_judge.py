"""What was measured against what is expected: each way to fail is told, and nothing missing counts as good."""

from pathlib import Path
from typing import Any

import pytest

from tests.valvey.racks import rack
from valvey.commissioning.judge import Verdict, judge, may_waive, orders_of, telling
from valvey.commissioning.line import Line
from valvey.commissioning.plan import lines_of

GOOD: dict[str, dict[str, Any]] = {
    "device/cdu": {"identity": "racky-cdu", "matches": True, "said": True},
    "point/FT-101": {"reading": 198.0, "said": 200.0, "tolerance": 6.0, "same": None, "quality": "GOOD"},
    "order/transmitters": {
        "point": "pt_101", "reading": 150.0, "said": 150.0, "tolerance": 10.0, "same": None, "quality": "GOOD",
        "orders": {"ABCD": 150.0, "CDAB": None, "BADC": 5e20, "DCBA": -3.0},
    },
    "contact/HS-101": {"rest": 0.0, "operated_s": 2.0, "back_s": 3.0},
    "leak/LDT-101": {"rest": 0.0, "wet_s": 9.0, "dry_s": 4.0, "others": (), "distance_m": None},
    "leak/LDT-103": {"rest": 0.0, "wet_s": 9.0, "dry_s": 4.0, "others": (), "distance_m": 4.2},
    "valve/XV-101": {"coil_s": 0.1, "opens_s": 5.0, "shuts_s": 3.5, "others": ()},
    "throttle/FCV-101": {"opens_s": 9.0, "shuts_s": 9.0, "reached_pct": 9.9, "found_pct": 0.0},
    "permit/XS-101": {
        "coil_on_s": 0.1, "contactor_on_s": 0.2, "coil_off_s": 0.1, "contactor_off_s": 0.1, "busbar_most_v": 0.0,
    },
    "interlock/W1": {"pressed_s": 4.0, "fell_s": 0.1, "reset_s": 3.0},
    "interlock/W2": {"fell_s": 3.6},
    "expiry/service": {"XS-101": 8.1, "XV-101": 15.0, "XV-102": 15.1},
    "cdu/mode": {"mode": 1.0, "said": 320.0},
}  # fmt: skip

BAD: list[tuple[str, dict[str, Any], str]] = [
    ("device/cdu", {"matches": False, "identity": "other"}, "another device"),
    ("device/cdu", {"said": False}, "does not find"),
    ("point/FT-101", {"said": 210.0}, "12 apart, allowed 6"),
    ("point/FT-101", {"reading": None, "quality": "timeout"}, "cannot be read: timeout"),
    ("point/FT-101", {"said": None}, "nobody read"),
    ("point/FT-101", {"same": False}, "something else"),
    ("order/transmitters", {"said": 300.0}, "apart"),
    ("order/transmitters", {"orders": {"ABCD": 150.0, "CDAB": 150.5}}, "more than one word order"),
    ("order/transmitters", {"orders": {"CDAB": 150.0}}, "more than one word order"),
    ("order/transmitters", {"orders": None}, "more than one word order"),
    ("contact/HS-101", {"rest": 1.0}, "does not rest"),
    ("contact/HS-101", {"rest": None}, "does not rest"),
    ("contact/HS-101", {"operated_s": None}, "not seen to act"),
    ("contact/HS-101", {"back_s": None}, "go back"),
    ("leak/LDT-101", {"rest": 1.0}, "not dry"),
    ("leak/LDT-101", {"wet_s": None}, "stayed dry"),
    ("leak/LDT-101", {"dry_s": None}, "not seen to dry"),
    ("leak/LDT-101", {"others": ("LDT-102",)}, "another zone told of it: LDT-102"),
    ("leak/LDT-103", {"distance_m": 0.0}, "no distance"),
    ("leak/LDT-103", {"distance_m": None}, "no distance"),
    ("valve/XV-101", {"coil_s": None}, "its coil never was energised"),
    ("valve/XV-101", {"opens_s": None}, "never opened"),
    ("valve/XV-101", {"opens_s": 7.5}, "opened after 7.50 s, expected within 7 s"),
    ("valve/XV-101", {"shuts_s": 1.0}, "expected after 1.75 to 5.25 s"),
    ("valve/XV-101", {"shuts_s": 6.0}, "expected after 1.75 to 5.25 s"),
    ("valve/XV-101", {"shuts_s": None}, "never shut"),
    ("valve/XV-101", {"others": ("ZSC-102",)}, "others moved with it: ZSC-102"),
    ("throttle/FCV-101", {"opens_s": None}, "did not reach 10 %"),
    ("throttle/FCV-101", {"shuts_s": None}, "did not go back"),
    ("permit/XS-101", {"coil_on_s": None}, "the coil never went on"),
    ("permit/XS-101", {"contactor_on_s": 1.5}, "the contactor went on after"),
    ("permit/XS-101", {"coil_off_s": 1.5}, "the coil went off after"),
    ("permit/XS-101", {"contactor_off_s": None}, "the contactor never went off"),
    ("permit/XS-101", {"busbar_most_v": 48.0}, "bus-bar was not dead: 48.0 V"),
    ("permit/XS-101", {"busbar_most_v": None}, "bus-bar was not dead"),
    ("interlock/W1", {"fell_s": None}, "never fell"),
    ("interlock/W2", {"fell_s": 6.5}, "fell after 6.50 s"),
    ("expiry/service", {"XS-101": None}, "XS-101 never went off"),
    ("expiry/service", {"XS-101": 7.0}, "XS-101 went off by itself after 7.00 s, expected after 7.2 to 8.8 s"),
    ("expiry/service", {"XV-101": 17.0}, "XV-101 went off"),
    ("expiry/service", {"XV-102": 8.05}, "a valve went before the permit"),
    ("cdu/mode", {"said": None}, "nobody has seen"),
    ("cdu/mode", {"said": 540.0}, "this mode of the CDU is refused"),
]


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Line]:
    folder: Path = tmp_path_factory.mktemp("rack")
    return {line.id: line for line in lines_of(rack(folder, ("loop: none ", "loop: cdu1 ")))}


@pytest.mark.parametrize("name", GOOD)
def test_what_is_as_expected_passes(lines: dict[str, Line], name: str) -> None:
    assert judge(lines[name], GOOD[name]) == (Verdict.PASS, "")


@pytest.mark.parametrize(("name", "change", "why"), BAD)
def test_what_is_not_fails_and_says_why(lines: dict[str, Line], name: str, change: dict[str, Any], why: str) -> None:
    verdict, text = judge(lines[name], GOOD[name] | change)
    assert verdict is Verdict.FAIL
    assert why in text


@pytest.mark.parametrize("name", GOOD)
def test_nothing_measured_is_never_a_pass(lines: dict[str, Line], name: str) -> None:
    assert judge(lines[name], {})[0] is Verdict.FAIL


def test_an_output_without_an_expiry_fails(lines: dict[str, Line]) -> None:
    line = lines["expiry/service"]
    never = Line(line.id, line.kind, line.subject, line.what, {"XS-101": None})
    assert judge(never, {"XS-101": 8.0}) == (Verdict.FAIL, "XS-101: its device declares no expiry")


def test_only_what_protects_nothing_can_be_waived(lines: dict[str, Line]) -> None:
    waivable = {line.kind.value for line in lines.values() if may_waive(line)}
    assert waivable == {"point", "order", "cdu"}


def test_a_value_is_shown_in_each_word_order_and_zero_tells_none_of_them(tmp_path: Path) -> None:
    profile = rack(tmp_path).profiles["transmitters"]
    point = profile.points["pt_101"]
    found = orders_of(point, profile.order_of(point), 150.0)
    assert found["ABCD"] == 150.0
    assert telling(found, "ABCD", 10.0)
    assert not telling(found, "EFGH", 10.0)
    nothing = orders_of(point, profile.order_of(point), 0.0)
    assert not telling(nothing, "ABCD", 10.0)
    assert orders_of(point, profile.order_of(point), 1e9) == {}, "out of its range"
    assert orders_of(rack(tmp_path).profiles["leak_panel"].points["ldx_103"], profile.word_order, 1.0) == {}

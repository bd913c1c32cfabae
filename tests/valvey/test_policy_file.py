"""The leak policy's file, and the policies that are shipped."""

from pathlib import Path

import pytest

from fieldkit.errors import ConfigError
from tests.valvey import racks
from valvey.config import RackConfig, load
from valvey.core.policy import DEFAULT_POLICY, Action

HEAD = "policy: own\nrules:\n"
ALL = "  - {name: rack, detectors: [LDT-101, LDT-102], action: isolate}\n  - {name: floor, detectors: [LDT-103], action: alarm, persist_s: at_once}\n"


def _rack(folder: Path, rules: str, *edits: tuple[str, str]) -> RackConfig:
    (folder / "own.yaml").write_text(HEAD + rules, encoding="utf-8")
    return racks.rack(folder, (f"{racks.ROOT}/configs/policies/detectors.yaml", "own.yaml"), *edits)


def _told(folder: Path, rules: str, *edits: tuple[str, str]) -> list[tuple[str, int | None, str, str]]:
    with pytest.raises(ConfigError) as raised:
        _rack(folder, rules, *edits)
    return [(Path(one.file).name, one.line, one.key, f"{one.message}; {one.allowed}") for one in raised.value.faults]


def test_the_shipped_detectors_policy_is_the_one_that_holds_without_a_file(tmp_path: Path) -> None:
    assert racks.rack(tmp_path).policy == DEFAULT_POLICY
    assert (
        racks.rack(tmp_path, (f"policy: {racks.ROOT}/configs/policies/detectors.yaml\n", "")).policy == DEFAULT_POLICY
    )


def test_the_shipped_tiers_write_the_trays_of_the_rack_out(tmp_path: Path) -> None:
    rules = racks.rack(tmp_path, ("/detectors.yaml", "/tiers.yaml\ntrays: [t01, t02]")).policy
    by_name = {rule.name: rule for rule in rules}
    assert by_name["site-sensor-wet"].persist_s <= 0.0
    assert by_name["two-trays-leaking"].detectors == ("TRAY-t01", "TRAY-t02")
    assert (by_name["two-trays-leaking"].count, by_name["two-trays-leaking"].action) == (2, Action.ISOLATE)
    assert by_name["one-tray-leaking"].action is Action.ALARM
    assert by_name["any-two-wet"].detectors == ("LDT-101", "LDT-102", "LDT-103", "TRAY-t01", "TRAY-t02")


def test_the_tiers_are_refused_for_a_rack_without_trays(tmp_path: Path) -> None:
    found = racks.faults(tmp_path, ("/detectors.yaml", "/tiers.yaml"))
    assert {one.nearest for one in found} == {None}
    assert all("names no detector of this rack: TRAY-*" in one.message for one in found)
    assert len(found) == 4


def test_a_rule_may_name_only_detectors_that_the_rack_has(tmp_path: Path) -> None:
    told = _told(tmp_path, ALL + "  - {name: more, detectors: [LDT-104], action: alarm}\n")
    assert told == [
        (
            "own.yaml",
            5,
            "rules.2.detectors",
            "rule more names no detector of this rack: LDT-104; LDT-101, LDT-102, LDT-103",
        )
    ]


def test_every_detector_is_named_by_a_rule(tmp_path: Path) -> None:
    told = _told(tmp_path, "  - {name: rack, detectors: [LDT-101], action: isolate}\n")
    assert [(file, key) for file, _, key, _ in told] == [("rack.yaml", "tags.LDT-102"), ("rack.yaml", "tags.LDT-103")]


# fmt: off
FAULTY = (
    ("{name: x, detectors: [LDT-101], action: isolte}",                           "rules.2.action",    "shadow, alarm, dark, isolate, esd"),
    ("{name: x, detectors: [LDT-101], action: isolate, persist_s: 0}",            "rules.2.persist_s", "at_once"),
    ("{name: x, detectors: [LDT-101], action: isolate, persist_s: 0.03}",         "rules.2.persist_s", "two fast scans"),
    ("{name: x, detectors: [LDT-101], action: isolate, persist_s: never}",        "rules.2.persist_s", "at_once"),
    ("{name: x, detectors: [LDT-101], action: isolate, persist_min: 1}",          "rules.2.persist_min", "persist_s, in seconds"),
    ("{name: x, detectors: [LDT-101], action: isolate, count: 2}",                "rules.2.count",     "1..1"),
    ("{name: rack, detectors: [LDT-101], action: isolate}",                       "rules.2.name",      "each name once"),
    ("{name: x, detectors: [], action: isolate}",                                 "rules.2.detectors", "at least 1 item"),
    ("{name: x, name: y, detectors: [LDT-101], action: isolate}",                 "rules.2.name",      "stands twice"),
)
# fmt: on


@pytest.mark.parametrize(("rule", "key", "text"), FAULTY)
def test_a_fault_in_a_rule_is_told_with_its_line(tmp_path: Path, rule: str, key: str, text: str) -> None:
    told = _told(tmp_path, f"{ALL}  - {rule}\n")
    assert [(file, line, at) for file, line, at, _ in told] == [("own.yaml", 5, key)]
    assert text in told[0][3]


def test_faults_of_the_rack_and_of_its_policy_come_together(tmp_path: Path) -> None:
    told = _told(
        tmp_path, ALL + "  - {name: x, detectors: [LDT-109], action: alarm}\n", ("rating_kw: 132.0", "rating_kw: none")
    )
    assert [(file, key) for file, _, key, _ in told] == [
        ("rack.yaml", "limits.rating_kw"),
        ("own.yaml", "rules.2.detectors"),
    ]


def test_a_rack_whose_policy_is_no_policy_is_refused_once(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("- just\n- a list\n", encoding="utf-8")
    path = racks.write(tmp_path, (f"{racks.ROOT}/configs/policies/detectors.yaml", "own.yaml"))
    with pytest.raises(ConfigError) as raised:
        load(path)
    assert len(raised.value.faults) == 1

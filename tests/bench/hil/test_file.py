"""The bench's file: what is wrong in it is told, all at once, with what would be right."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench.hil.file import load
from bench.hil.plan import Plan, Stand
from fieldkit.errors import ConfigError

ROOT = Path(__file__).resolve().parents[3]
SHIPPED = ROOT / "configs" / "bench.yaml"


@pytest.fixture
def changed(tmp_path: Path) -> Callable[[Callable[[dict[str, Any]], None]], list[str]]:
    """Return the faults of the shipped file with one change."""

    def faults(change: Callable[[dict[str, Any]], None]) -> list[str]:
        document = yaml.safe_load(SHIPPED.read_text(encoding="utf-8"))
        document["rack"] = str(ROOT / "configs" / "rack.yaml")
        change(document)
        (file := tmp_path / "bench.yaml").write_text(yaml.safe_dump(document))
        with pytest.raises(ConfigError) as wrong:
            load(file)
        return [str(fault).removeprefix(f"{file}:") for fault in wrong.value.faults]

    return faults


def test_the_shipped_file_is_sound_and_names_every_zone_and_valve_of_the_example() -> None:
    bench = load(SHIPPED)
    assert set(bench.data.devices) == set(bench.rack.data.buses)
    assert [line.row for line in bench.rows_of("LDT-101")] == ["SIF-1/rack-detector-wet"]
    assert [line.row for line in bench.rows_of("LDT-103")] == ["SIF-1/floor-rope-wet"], (
        "alone, without a second symptom"
    )
    assert len(bench.digest) == 64


@pytest.mark.parametrize(
    ("section", "key", "value", "words"),
    [
        (
            "devices",
            "valve_controler",
            {},
            ("no bus 'valve_controler'", "did you mean 'valve_controller'", "transmitters"),
        ),
        ("zones", "LDT-109", "somewhere", ("no tag 'LDT-109'", "LDT-101")),
        ("zones", "FT-101", "in the pipe", ("no rule of the leak policy acts",)),
        ("valves", "XV-109", {"shut_s": 1.0}, ("no valve 'XV-109'", "XV-104")),
        ("cables", "transmitters", "SIF-4 blnd", ("no row 'SIF-4 blnd'", "did you mean 'SIF-4 blind'", "nothing")),
        ("valves", "XV-101", {"shut_s": -1.0}, ("valves.XV-101.shut_s", "greater than 0")),
        ("valves", "XV-101", {"close_s": 1.0, "shut_s": 1.0}, ("valves.XV-101.close_s",)),
    ],
)
def test_a_wrong_entry_is_told_with_what_would_be_right(
    changed: Callable[..., list[str]], section: str, key: str, value: object, words: tuple[str, ...]
) -> None:
    (fault,) = changed(lambda document: document[section].update({key: value}))
    assert fault.split(":")[0].isdigit(), "its line"
    assert [word for word in words if word not in fault] == []


def test_all_faults_are_told_at_once(changed: Callable[..., list[str]]) -> None:
    def two(document: dict[str, Any]) -> None:
        document["zones"]["LDT-109"] = "somewhere"
        document["cables"]["nobody"] = "nothing"

    assert len(changed(two)) == 2


def test_a_plan_says_which_register_of_which_device_is_written_and_what_a_person_does() -> None:
    plan = Plan(Stand.ISOLATED, ("{valve}",), by="bench", person=("look at {valve}", "wet {zone}: {place}"))
    lines = plan.of(valve="XV-103", zone="LDT-102").lines(load(SHIPPED))
    assert lines == [
        f"starts    {Stand.ISOLATED}",
        "writes    XV-103 by bench: valve_controller at 192.168.10.11:502, unit 1, holding 2 (xv_103)",
        "person    look at XV-103",
        "person    wet LDT-102: spot sensor in the drain pan",
    ]
    assert "writes    nothing" in Plan().lines(load(SHIPPED))

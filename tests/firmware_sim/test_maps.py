"""The register maps: complete, without overlaps, and as the page of the reference devices gives them."""

import json
import re
from pathlib import Path

import pytest

from firmware_sim.parts.maps import MAPS
from firmware_sim.parts.registers import DeviceMap, Table

PAGE = Path(__file__).parents[2] / "docs" / "devices" / "reference_devices.md"
DEVICES = list(MAPS.values())


@pytest.mark.parametrize("device_map", DEVICES, ids=lambda m: m.device)
@pytest.mark.parametrize("table", [Table.INPUT, Table.HOLDING])
def test_no_two_rows_share_a_register(device_map: DeviceMap, table: Table) -> None:
    taken = [row.address + word for row in device_map.table(table) for word in range(row.words)]
    assert len(taken) == len(set(taken))


@pytest.mark.parametrize("device_map", DEVICES, ids=lambda m: m.device)
def test_the_map_document_is_json_and_names_everything_another_maker_needs(device_map: DeviceMap) -> None:
    document = json.loads(json.dumps(device_map.document()))
    assert document["simulated"] is True
    for row in document["rows"]:
        assert {"address", "table", "type", "order", "unit", "watchdog"} <= row.keys()
        assert row["order"] == ("ABCD" if row["type"] == "f32" else None)


def test_the_commands_name_their_watchdogs() -> None:
    rows = {row.address: row for row in MAPS["valve_controller"].table(Table.HOLDING)}
    assert [rows[n].watchdog for n in (0, 1, 2, 3, 4, 8)] == ["valves"] * 4 + [None, "permit"]
    assert rows[100].persistent


def section(number: int) -> str:
    text = PAGE.read_text(encoding="utf-8")
    return text.split(f"\n## {number}. ", 1)[1].split("\n## ", 1)[0]


@pytest.mark.parametrize(
    ("number", "device"),
    [(2, "transmitters"), (4, "busbar_meter"), (6, "cdu"), (7, "power_shelf"), (8, "battery_shelf"), (9, "room")],
)
def test_the_input_block_has_the_size_that_the_page_gives(number: int, device: str) -> None:
    size = int(re.search(r"one block of (\d+)", section(number)).group(1))  # type: ignore[union-attr]
    block = [row for row in MAPS[device].table(Table.INPUT) if row.address < 900]
    assert max(row.address + row.words for row in block) == size
    assert sum(row.words for row in block) == size


@pytest.mark.parametrize(("number", "device"), [(7, "power_shelf"), (8, "battery_shelf")])
def test_each_row_of_the_pages_table_stands_in_the_map(number: int, device: str) -> None:
    rows = re.findall(r"^\| (\d+)( \+ 8k)? \| (.+?) \| (\w+) \|", section(number), flags=re.MULTILINE)
    ours = {row.address: (row.name, row.kind.value) for row in MAPS[device].table(Table.INPUT)}
    assert len(rows) >= 8
    for address, each, name, kind in rows:
        for k, psu in enumerate("ABCDEF") if each else [(0, "")]:
            assert ours[int(address) + 8 * k] == (name.replace("PSU", f"PSU {psu}"), kind)


def test_the_mailbox_stands_where_the_page_has_it() -> None:
    rows = re.findall(r"^\| (0x3\w\w)\S* \| (.+?) \|", section(10), flags=re.MULTILINE)
    assert len(rows) == 6
    for device in ("power_shelf", "battery_shelf"):
        ours = {row.address: row.name for row in MAPS[device].table(Table.HOLDING)}
        assert [ours[int(address, 16)] for address, _ in rows] == [f"update {name}" for _, name in rows]


@pytest.mark.parametrize("device", ["transmitters", "cdu"])
def test_each_tag_stands_at_the_address_that_the_page_gives(device: str) -> None:
    text = section({"transmitters": 2, "cdu": 6}[device])
    listed = {tag: int(address) for address, tag in re.findall(r"(\d+) ([A-Z]T-\d+[ABC]?)", text.split("heartbeat")[0])}
    ours = {row.name: row.address for row in MAPS[device].table(Table.INPUT)}
    assert len(listed) >= 6
    assert {tag: ours[tag] for tag in listed} == listed


def test_the_holding_table_of_the_valve_controller_is_the_pages() -> None:
    rows = re.findall(r"^\| (\d+) \| (.+?) \| u16", section(1).split("Input")[0], flags=re.MULTILINE)
    ours = {row.address: row.name for row in MAPS["valve_controller"].table(Table.HOLDING)}
    assert len(rows) >= 8
    for address, name in rows:
        assert ours[int(address)].removesuffix(" command") == name.removesuffix(" command")

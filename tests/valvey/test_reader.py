"""`valvey field`: the rows of a scan, from devices that answer and from those that do not."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from fieldkit.reading import Quality, Reading, Reason, bad
from fieldkit.rows import as_lines, as_text
from fieldkit.units import Unit
from tests.valvey.racks import rack
from valvey.reader import rows, run_reads

KEYS = ["t_mono_s", "rack", "tag", "value", "unit", "quality", "reason", "age_s"]


def nobody() -> int:
    """A port at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


async def test_devices_that_are_not_there_give_bad_rows_with_the_reason_and_nothing_raises(tmp_path: Path) -> None:
    edits = [(f"192.168.10.{n}:502", f"127.0.0.1:{nobody()}") for n in (11, 12, 13, 14, 15, 100)]
    config = rack(tmp_path, *edits)
    found: list[list[dict[str, Any]]] = []
    await run_reads(config, 2, found.append)
    assert len(found) == 2
    assert {row["tag"] for row in found[0]} == set(config.inputs)
    assert {(row["value"], row["quality"], row["reason"]) for row in found[-1]} == {(None, "BAD", "link_down")}


def test_a_row_has_exactly_the_pinned_keys_and_a_stale_value_is_bad(tmp_path: Path) -> None:
    config = rack(tmp_path)
    readings = {tag: bad(tag, Unit.NONE, 100.0, Reason.NEVER_READ) for tag in config.inputs}
    readings["FT-101"] = Reading("FT-101", 198.25, Unit.L_MIN, Quality.GOOD, 99.9)
    readings["PT-101"] = Reading("PT-101", 300.0, Unit.KPA, Quality.GOOD, 99.0)
    found = {row["tag"]: row for row in rows(config, readings, 100.0)}
    assert list(found["FT-101"]) == KEYS
    assert found["FT-101"]["value"] == pytest.approx(198.25)
    assert found["FT-101"]["age_s"] == pytest.approx(0.1)
    assert (found["PT-101"]["value"], found["PT-101"]["reason"]) == (None, "stale")


def test_lines_are_one_json_object_each_and_text_says_what_is_wrong(tmp_path: Path) -> None:
    config = rack(tmp_path, ("simulated: false", "simulated: true"))
    readings = {tag: bad(tag, Unit.NONE, 100.0, Reason.TIMEOUT) for tag in config.inputs}
    found = rows(config, readings, 100.0)
    documents = [json.loads(line) for line in as_lines(found).splitlines()]
    assert len(documents) == len(config.inputs)
    assert all(document["simulated"] is True for document in documents)
    assert "BAD timeout" in as_text(found)

"""Generated pages: complete, the same twice, and as the code says."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from fieldkit.tag import TAGS
from tests.valvey import racks
from tests.valvey.test_config import run
from valvey import draw, draw_pid
from valvey.config_models import SetPoints
from valvey.core.loop.alarms import ALARM_ROWS as LOOP_ALARMS
from valvey.core.loop.events import EVENTS
from valvey.core.loop.gate import ALLOWED, RUN
from valvey.core.loop.requests import REQUESTS as LOOP_REQUESTS
from valvey.core.loop.works import WORKS
from valvey.core.requests import REQUESTS
from valvey.core.trips import TRIPS
from valvey.loop.models import LoopFile


def test_the_pages_in_the_tree_are_as_the_code_says() -> None:
    assert draw.stale(racks.ROOT) == []


def test_writing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    draw.write(tmp_path)
    first = {path.name: path.read_bytes() for path in (tmp_path / draw.FOLDER).iterdir()}
    draw.write(tmp_path)
    assert first == {path.name: path.read_bytes() for path in (tmp_path / draw.FOLDER).iterdir()}
    assert set(first) == {
        "chart.md",
        "trips.md",
        "outputs.md",
        "adoption.md",
        "requests.md",
        "alarms.md",
        "glossary.md",
        "config.md",
        "config-loop.md",
        "loop.md",
        "messages.md",
        "asyncapi.yaml",
        "pid.svg",
    }


def test_a_changed_missing_or_outdated_page_is_named(tmp_path: Path) -> None:
    draw.write(tmp_path)
    folder = tmp_path / draw.FOLDER
    (folder / "trips.md").write_text("by hand")
    (folder / "alarms.md").unlink()
    (folder / "old.md").write_text(f"{draw.OURS}\nwhat once was")
    (folder / "demo.svg").write_text("<svg/>")
    code, out = run("draw", "--check", "--out", str(tmp_path))
    assert code == 1
    assert [line.split(":")[0] for line in out.splitlines()] == [
        f"docs/generated/{name}" for name in ("alarms.md", "old.md", "trips.md")
    ]
    assert run("draw", "--out", str(tmp_path))[0] == 0
    assert run("draw", "--check", "--out", str(tmp_path))[0] == 0
    assert not (folder / "old.md").exists()
    assert (folder / "demo.svg").exists()


def test_tables_are_written_between_their_marks_and_nothing_else_is_touched() -> None:
    page = "before\n<!-- generated: wiring -->\nold\n<!-- end -->\nafter\n"
    text = draw.with_tables(page)
    assert text.startswith("before\n<!-- generated: wiring -->\n| id | what has to be wired |\n")
    assert text.endswith("<!-- end -->\nafter\n")
    assert "old" not in text
    assert draw.with_tables(text) == text


def test_a_mark_without_a_table_is_a_fault() -> None:
    with pytest.raises(ValueError, match="no table is called 'trip'"):
        draw.with_tables("<!-- generated: trip -->\n<!-- end -->")


def test_the_safety_page_includes_the_tables_that_matter() -> None:
    marks = re.findall(r"<!-- generated: ([a-z-]+) -->", (racks.ROOT / draw.SAFETY).read_text(encoding="utf-8"))
    assert {"wiring", "trips", "policy", "outputs", "gate", "adoption", "ladder"} <= set(marks)
    assert {"loop-events", "loop-gate", "loop-leases", "loop-stop"} <= set(marks)


def test_every_table_cell_stands_in_its_column() -> None:
    for path, text in draw.generated().items():
        for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
            columns = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
            assert len(columns) == 1, path


def test_every_safety_function_request_and_set_point_is_told() -> None:
    pages = {path.name: text for path, text in draw.generated().items()}
    assert [trip.key for trip in TRIPS if f"| {trip.key} |" not in pages["trips.md"]] == []
    assert [name for name in REQUESTS if f"| {name} |" not in pages["requests.md"]] == []
    assert [name for name in SetPoints.model_fields if f"| `{name}` |" not in pages["config.md"]] == []


def test_every_event_work_request_and_alarm_of_the_loop_is_told() -> None:
    page = draw.generated()[draw.FOLDER / "loop.md"]
    assert [row.name for row in EVENTS if f"| {row.name} |" not in page] == []
    assert [name for name in (*WORKS, *LOOP_REQUESTS, *ALLOWED, RUN) if f"| {name} |" not in page] == []
    assert [row.id for row in LOOP_ALARMS if f"| loop: {row.id} |" not in page] == []
    config = draw.generated()[draw.FOLDER / "config-loop.md"]
    assert [name for name in LoopFile.model_fields if f"| `{name}` |" not in config] == []


def test_every_tag_stands_once_in_the_drawing() -> None:
    root = ElementTree.fromstring(draw_pid.pid())
    ids = [one.attrib["id"] for one in root.iter("{http://www.w3.org/2000/svg}g")]
    assert sorted(ids) == sorted(row.tag for row in TAGS)


def test_no_two_symbols_of_the_drawing_lie_on_each_other() -> None:
    centres = [(x, y) for x, y, _ in (*draw_pid.IN_PIPE.values(), *draw_pid.BUBBLES.values())]
    for index, (x, y) in enumerate(centres):
        assert draw_pid.RADIUS < x < draw_pid.WIDTH - draw_pid.RADIUS
        assert draw_pid.RADIUS < y < draw_pid.HEIGHT - draw_pid.RADIUS
        for u, v in centres[:index]:
            assert (x - u) ** 2 + (y - v) ** 2 >= (2 * draw_pid.RADIUS) ** 2


def test_a_tag_without_a_place_in_the_drawing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(draw_pid.BUBBLES, "FT-101")
    with pytest.raises(KeyError, match="FT-101"):
        draw_pid.pid()

"""What each point is, and what a safe shutdown asks for."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fieldkit import letters as common
from tests.fieldkit.door import an_inbox
from tests.valvey.racks import rack
from valvey import letters
from valvey.broker import settings
from valvey.config import to_limits
from valvey.core.chart import State
from valvey.core.memory import Memory
from valvey.core.requests import Request
from valvey.derived import POINTS
from valvey.meta import metas
from valvey.safe_shutdown import SafeShutdown


def test_every_tag_of_a_rack_is_explained_with_its_unit_its_limits_and_its_source(tmp_path: Path) -> None:
    config = rack(tmp_path)
    points = metas(config, to_limits(config))
    assert set(points) == set(config.data.tags) | {one.tag for one in POINTS}
    pressure = points["PT-101"]
    assert (str(pressure.unit), pressure.limits["HH"], pressure.profile) == ("kPa", 540.0, "racky_loop-transmitters")
    assert points["XV-101"].description.startswith("supply isolation valve")


def test_the_broker_is_told_as_the_file_says_and_a_password_comes_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("pass word\nsecond line")
    config = rack(tmp_path, ("username: null, password_file: null", "username: v, password_file: secret"))
    found = settings(config)
    assert (found.host, found.client_id, found.username) == ("localhost", "valvey-r01", "v")
    assert found.password is not None
    assert found.password.reveal() == "pass word"
    assert "pass word" not in repr(found)


def test_a_password_that_cannot_be_read_names_its_file(tmp_path: Path) -> None:
    config = rack(tmp_path, ("password_file: null", "password_file: absent"))
    with pytest.raises(OSError, match="absent"):
        settings(config)


async def test_a_safe_shutdown_asks_for_dark_then_isolation_once_and_waits_for_the_valves() -> None:
    inbox = an_inbox(Request)
    guard: Any = SimpleNamespace(memory=Memory(state=State.FLOWING))
    safely = SafeShutdown(inbox, guard)
    safely.ask()
    safely.ask()
    assert [one.name for one in inbox.take()] == ["dark", "isolate"]
    guard.memory = Memory(state=State.ISOLATED)
    await safely.finished()


def test_numbers_that_are_none_and_sets_become_plain_json() -> None:
    assert common.plain({"a": float("nan"), "b": {"y", "x"}, "c": (State.ESD, 1)}) == {
        "a": None, "b": ["x", "y"], "c": ["ESD", 1]
    }  # fmt: skip
    assert common.line("two\nlines") == "two lines"
    assert letters.cause_of("", None, None) == "no reading"

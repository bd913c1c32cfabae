"""Logs: what a line holds, and what it never does."""

import io
import json
import logging
import os
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from fieldkit.logs import Secret, configure, hide_secrets


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    handlers, level = logging.root.handlers[:], logging.root.level
    yield
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)


def test_a_line_is_one_json_object_with_event_level_time_and_fields() -> None:
    out = io.StringIO()
    configure("json", stream=out, rack="r01").info("valve_shut", tag="XV-101")
    line = json.loads(out.getvalue())
    assert line.pop("at").endswith("Z")
    assert line == {"event": "valve_shut", "level": "info", "rack": "r01", "tag": "XV-101"}


def test_a_password_never_appears_whatever_carries_it() -> None:
    out = io.StringIO()
    log = configure("json", "debug", stream=out)
    word = "hunter2"
    log.debug("connecting", password=word, options={"mqtt_token": word, "deep": [{"api_secret": word}]})
    log.warning("config", mqtt=Secret(word), many=[Secret(word)], text=f"{Secret(word)}")
    log.error("refused", exc_info=ValueError(Secret(word)), secret_file="x")
    assert word not in out.getvalue()
    assert out.getvalue().count("***") >= 6


def test_a_secret_is_revealed_only_on_request_and_never_written() -> None:
    secret = Secret("hunter2")
    assert (repr(secret), str(secret), f"{secret}", secret.reveal()) == ("***", "***", "***", "hunter2")
    assert secret == Secret("hunter2")
    assert secret != "hunter2"
    with pytest.raises(TypeError, match="not written"):
        pickle.dumps(secret)
    assert hide_secrets({"user": "a", "password": None}) == {"user": "a", "password": None}


def test_libraries_warnings_come_out_the_same_way_and_their_chatter_does_not() -> None:
    out = io.StringIO()
    configure("json", stream=out)
    logging.getLogger("mqtt").warning("There are %d pending calls.", 11)
    logging.getLogger("mqtt").info("chatter")
    (line,) = out.getvalue().splitlines()
    assert json.loads(line)["event"] == "There are 11 pending calls."


def test_the_console_form_is_for_people() -> None:
    out = io.StringIO()
    configure("console", stream=out).info("valve_shut", tag="XV-101")
    assert "valve_shut" in out.getvalue()
    assert "{" not in out.getvalue()


def test_under_journald_each_line_carries_its_priority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "journal").open("w", encoding="utf-8") as out:
        status = os.fstat(out.fileno())
        monkeypatch.setenv("JOURNAL_STREAM", f"{status.st_dev}:{status.st_ino}")
        log = configure("json", stream=out)
        log.info("read")
        log.error("lost")
    lines = (tmp_path / "journal").read_text().splitlines()
    assert [line[:3] for line in lines] == ["<6>", "<3>"]
    assert json.loads(lines[1][3:])["event"] == "lost"

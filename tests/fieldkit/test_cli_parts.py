"""What commands print: one document, or a text that steers no terminal."""

import json

import pytest
import typer

from fieldkit.cli_parts import Output, fail, shown, tell
from fieldkit.exit_codes import EXIT

STEERING = "a\x1b]0;owned\x07\r\x9b\u202eb"


def test_what_is_shown_keeps_its_lines_and_loses_what_would_steer_a_terminal() -> None:
    assert shown("müde\n  zwei µ°") == "müde\n  zwei µ°"
    assert shown(STEERING) == "a\ufffd]0;owned\ufffd\ufffd\ufffd\ufffdb"


def test_a_result_is_one_document_or_a_clean_text(capsys: pytest.CaptureFixture[str]) -> None:
    tell({"name": STEERING}, Output.JSON, "")
    assert json.loads(capsys.readouterr().out) == {"name": STEERING}
    tell({}, Output.TEXT, STEERING)
    assert capsys.readouterr().out == shown(STEERING) + "\n"


def test_a_complaint_is_clean_too(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit):
        fail(STEERING, EXIT.FAILED)
    assert capsys.readouterr().err.endswith(shown(STEERING) + "\n")

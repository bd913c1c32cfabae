"""What people say: one word, a value, a reason; and a file of it that is refused where it means nothing."""

import io
from pathlib import Path

import pytest

from fieldkit.errors import ConfigError
from valvey.commissioning.answers import LATER, Answer, AnswersFile, FromFile, QuitError, Terminal, parse, read_file
from valvey.commissioning.line import Kind, Line

FLOW = Line("point/FT-101", Kind.POINT, "FT-101", "supply flow", {"unit": "L/min"})
VALVE = Line("valve/XV-101", Kind.VALVE, "XV-101", "opens", {})
DEVICE = Line("device/cdu", Kind.DEVICE, "cdu", "is this it?", {})
LINES = (FLOW, VALVE, DEVICE)


def file(folder: Path, text: str, *, simulated: bool = True) -> AnswersFile:
    path = folder / "answers.yaml"
    path.write_text(f"by: ann lee\n{text}", encoding="utf-8")
    return read_file(path, LINES, simulated=simulated)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("y", Answer(yes=True)), (" yes\n", Answer(yes=True)), ("n", Answer(yes=False)), ("12.5", Answer(value=12.5)),
        ("-3", Answer(value=-3.0)), ("w no display", Answer(waive="no display")), ("s", LATER),
    ],
)  # fmt: skip
def test_one_line_of_text_is_one_answer(text: str, answer: Answer) -> None:
    assert parse(text) == answer
    assert answer.later is (answer == LATER)


@pytest.mark.parametrize("text", ["", "maybe", "nan", "inf", "12 bar", "w", "w x", "y please"])
def test_anything_else_is_asked_again(text: str) -> None:
    with pytest.raises(ValueError, match="write y, n"):
        parse(text)


def test_q_leaves() -> None:
    with pytest.raises(QuitError):
        parse("q")


def test_a_file_answers_line_by_line_and_leaves_open_what_it_does_not_name(tmp_path: Path) -> None:
    person = FromFile(file(tmp_path, "answers: {point/FT-101: 200.0, device/cdu: true}"))
    assert (person.name, person.ask(FLOW, "")) == ("ann lee", Answer(value=200.0))
    assert (person.ask(DEVICE, ""), person.ask(VALVE, "")) == (Answer(yes=True), LATER)
    assert person.sign() is False


def test_a_file_may_give_a_tolerance_a_reason_or_words(tmp_path: Path) -> None:
    text = "answers: {point/FT-101: {value: 3.0, tolerance: 5.0}, device/cdu: {waive: away}, valve/XV-101: 'n', sign: true}"
    person = FromFile(file(tmp_path, text))
    assert person.ask(FLOW, "") == Answer(value=3.0, tolerance=5.0)
    assert person.ask(DEVICE, "") == Answer(waive="away")
    assert person.ask(VALVE, "") == Answer(yes=False)
    assert person.sign() is True


def test_otherwise_is_yes_to_all_the_rest_on_a_simulated_rack_only(tmp_path: Path) -> None:
    person = FromFile(file(tmp_path, "otherwise: true"))
    assert (person.ask(VALVE, ""), person.sign()) == (Answer(yes=True), True)
    with pytest.raises(ConfigError, match="is for simulated racks"):
        file(tmp_path, "otherwise: true", simulated=False)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("answers: {point/FT-102: 1.0}", "did you mean 'point/FT-101'"),
        ("answers: {device/cdu: perhaps}", "no answer"),
        ("answers: {device/cdu: q}", "no answer"),
        ("answer: {}", "answers"),
    ],
)
def test_a_file_that_answers_nothing_of_this_rack_is_refused(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        file(tmp_path, text)


def test_the_terminal_asks_until_it_understands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("what?\n198\n"))
    assert Terminal("ann").ask(FLOW, "reads 200 L/min") == Answer(value=198.0)
    told = capsys.readouterr()
    assert (told.out, "reads 200 L/min" in told.err, "'what?'" in told.err) == ("", True, True)


def test_a_terminal_that_is_gone_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with pytest.raises(QuitError):
        Terminal("ann").ask(VALVE, "")


@pytest.mark.parametrize(("text", "signed"), [("ann\n", True), ("y\n", False)])
def test_a_signature_is_the_name_written_again(monkeypatch: pytest.MonkeyPatch, text: str, signed: bool) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert Terminal("ann").sign() is signed

"""YAML files, and the faults found in them."""

from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from fieldkit.errors import ConfigError, Fault
from fieldkit.yamlfile import MOST_BYTES, MOST_DEPTH, check, dotted, load, parse


class Limits(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    leak_debounce_s: Annotated[float, Field(gt=0)]
    flow_ll_lpm: float | None = None
    step: float | tuple[int, int] = 1.0


class Rack(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    site: str
    mode: Literal["auto", "manual"] = "auto"
    limits: dict[str, Limits]
    lanes: tuple[Limits, ...] = ()


def faults(text: str) -> tuple[Fault, ...]:
    with pytest.raises(ConfigError) as caught:
        check(parse(text.encode(), "rack.yaml"), Rack)
    return caught.value.faults


def test_a_good_file_becomes_its_model() -> None:
    rack = check(parse(b"site: demo\nlimits:\n  a: {leak_debounce_s: 1}\n", "rack.yaml"), Rack)
    assert rack == Rack(site="demo", limits={"a": Limits(leak_debounce_s=1.0)})


def test_scalars_are_what_they_look_like() -> None:
    text = (
        "a: on\nb: no\nc: 12:30\nd: 2026-01-01\ne: 0x10\nf: 1e3\ng: ~\nh: true\ni: 'true'\nj: .inf\nk: 1_0\nl: -7\nm:\n"
    )
    assert parse(text.encode(), "f").data == {
        "a": "on",
        "b": "no",
        "c": "12:30",
        "d": "2026-01-01",
        "e": 16,
        "f": 1000.0,
        "g": None,
        "h": True,
        "i": "true",
        "j": ".inf",
        "k": "1_0",
        "l": -7,
        "m": None,
    }


def test_a_key_that_stands_twice_is_refused_with_both_lines() -> None:
    (fault,) = faults("site: demo\nlimits:\n  a:\n    leak_debounce_s: 1\n    leak_debounce_s: 9\n")
    assert (fault.line, fault.key) == (5, "limits.a.leak_debounce_s")
    assert "first in line 4" in fault.message


def test_a_misspelt_key_is_named_with_its_line_and_the_nearest() -> None:
    unknown = next(f for f in faults("site: demo\nlimits:\n  a:\n    leak_debonce_s: 1\n") if f.nearest is not None)
    assert (unknown.line, unknown.key, unknown.nearest) == (4, "limits.a.leak_debonce_s", "leak_debounce_s")
    assert unknown.allowed == "leak_debounce_s, flow_ll_lpm, step"


def test_a_missing_key_is_told_at_the_line_of_what_lacks_it() -> None:
    (fault,) = faults("site: demo\nlimits:\n  a:\n    flow_ll_lpm: 1\n")
    assert (fault.line, fault.key, fault.message) == (3, "limits.a.leak_debounce_s", "is missing")


def test_every_fault_is_told_at_once_in_the_order_of_lines() -> None:
    text = "site: 5\nmode: autom\nlimits:\n  a: {leak_debounce_s: 0}\nlanes:\n  - leak_debounce_s: '1'\n  - {leak_debounce_s: true, step: [1, x]}\n"
    found = faults(text)
    assert [(f.line, f.key) for f in found] == [
        (1, "site"),
        (2, "mode"),
        (4, "limits.a.leak_debounce_s"),
        (6, "lanes.0.leak_debounce_s"),
        (7, "lanes.1.leak_debounce_s"),
        (7, "lanes.1.step"),
        (7, "lanes.1.step.1"),
    ]
    assert (found[1].nearest, found[1].allowed) == ("auto", "auto, manual")
    assert "greater than 0" in found[2].message


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("a: &x 1\nb: *x\n", 1, "anchors"),
        ("a: 1\nb: *x\n", 2, "anchors"),
        ("a: !!python/object:os.system {}\n", 1, "tag"),
        ("a: 1\nb: !secret x\n", 2, "tag !secret"),
        ("a: 1\nb: 010\n", 2, "begins with 0"),
        ("a: 1\n? [b, c]\n: 2\n", 2, "a key must be a word"),
        ("a: [1\n", 2, "not YAML"),
        ("a: b: c\n", 1, "not YAML"),
        ("- 1\n- 2\n", 1, "no keys"),
        ("", 1, "no keys"),
        ("a: 1\n---\nb: 2\n", 2, "not YAML"),
        ("a: 1\nb: " + "[" * MOST_DEPTH + "]" * MOST_DEPTH, 2, "levels deep"),
    ],
)
def test_what_these_files_do_without_is_refused_with_its_line(text: str, line: int, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text.encode(), "f.yaml")
    assert caught.value.faults[0].line == line
    assert why in caught.value.faults[0].message


def test_bytes_that_are_no_text_are_refused_with_their_line() -> None:
    with pytest.raises(ConfigError, match=r"f\.yaml:2: is not UTF-8"):
        parse(b"a: 1\nb: \xff\n", "f.yaml")
    with pytest.raises(ConfigError, match="not YAML"):
        parse(b"a: \x00\n", "f.yaml")


def test_a_huge_file_is_not_even_read() -> None:
    with pytest.raises(ConfigError, match="bytes long"):
        parse(b" " * (MOST_BYTES + 1), "f.yaml")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"rack\.yaml: cannot be read: No such file"):
        load(tmp_path / "rack.yaml")


def test_lines_are_known_for_keys_and_for_items(tmp_path: Path) -> None:
    path = tmp_path / "rack.yaml"
    path.write_text("# heading\na:\n  - b: 1\n  - b: 2\n    c: 3\n")
    document = load(path)
    assert [document.line_of(p) for p in (("a",), ("a", 0), ("a", 1, "b"), ("a", 1, "c"))] == [2, 3, 4, 5]
    assert document.line_of(("a", 1, "nowhere", "deep")) == 4
    assert document.line_of(("nowhere",)) == 1
    assert dotted(("a", 1, "c")) == "a.1.c"
    assert str(document.fault(("a", 1, "c"), "is odd", "even")) == f"{path}:5: a.1.c: is odd (allowed: even)"


def test_a_union_that_fits_nothing_is_one_fault_with_both_reasons() -> None:
    (fault,) = faults("site: d\nlimits:\n  a:\n    leak_debounce_s: 1\n    step: x\n")
    assert (fault.line, fault.key) == (5, "limits.a.step")
    assert "number" in fault.message
    assert "or " in fault.message


@pytest.mark.parametrize(
    "text", ["a: 1\nb: {c: [1, x], d: 'y'}\n", "a: 1\na: 2\n", "a: [1\n", "a: &x 1\n", "a: !t 1\n", "# only\n"]
)
def test_without_the_fast_parser_a_file_reads_the_same(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def outcome() -> object:
        try:
            document = parse(text.encode(), "f.yaml")
        except ConfigError as error:
            return [(fault.line, fault.key) for fault in error.faults]
        return document.data, document.lines

    with_it = outcome()
    monkeypatch.setattr("yaml.__with_libyaml__", False)
    assert outcome() == with_it

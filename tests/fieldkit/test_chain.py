"""A chain of lines: what was done to it shows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldkit.chain import START, ChainError, Verdict, encode, forge, read

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
names = st.text(min_size=1, max_size=8).filter(lambda name: name not in {"n", "p", "h"})


def chained(count: int) -> list[bytes]:
    lines, digest = [], START
    for n in range(1, count + 1):
        line, digest = forge(n, digest, encode({"kind": "test", "value": n}))
        lines.append(line)
    return lines


def judged(lines: list[bytes]) -> Verdict:
    verdict = Verdict()
    verdict.add("segment", lines)
    return verdict


@given(st.dictionaries(names, json_values, max_size=4), st.integers(0, 10**12))
def test_a_line_gives_back_what_was_put_in(fields: dict[str, object], number: int) -> None:
    line, digest = forge(number, START, encode(fields))
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert read(line) == (number, START, digest, fields)


def test_an_untouched_chain_is_whole() -> None:
    verdict = judged(chained(20))
    assert verdict.whole
    assert (verdict.records, verdict.first, verdict.last) == (20, 1, 20)


@given(st.integers(0, 10**6), st.integers(1, 255))
def test_any_changed_byte_shows(place: int, change: int) -> None:
    stream = bytearray(b"".join(chained(5)))
    place %= len(stream) - 1  # the very last newline may be missing after a crash
    stream[place] ^= change
    verdict = judged([line + b"\n" for line in bytes(stream).removesuffix(b"\n").split(b"\n")])
    assert not verdict.whole


@pytest.mark.parametrize("place", range(1, 5))
def test_a_line_taken_out_or_put_elsewhere_shows(place: int) -> None:
    lines = chained(6)
    without = lines[:place] + lines[place + 1 :]
    moved = [*lines[:place], lines[place + 1], lines[place], *lines[place + 2 :]]
    assert not judged(without).whole
    assert not judged(moved).whole


def test_a_line_forged_again_with_another_content_shows_at_the_next() -> None:
    lines = chained(4)
    found = read(lines[1])
    assert found is not None
    lines[1], _ = forge(2, found[1], encode({"kind": "test", "value": 99}))
    assert judged(lines).faults == ["segment:3: does not follow the line before it"]


def test_a_last_line_cut_anywhere_is_reported_and_no_fault() -> None:
    lines = chained(3)
    for cut in range(1, len(lines[2]) - 1):
        verdict = judged([*lines[:2], lines[2][:cut]])
        assert verdict.whole
        assert verdict.cut == [f"segment: last line of {cut} bytes"]
        assert verdict.last == 2


@pytest.mark.parametrize("fields", [{"n": 1}, {"h": ""}, {"x": float("nan")}, {"x": b"bytes"}, {"x": {1, 2}}])
def test_what_cannot_be_a_line_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ChainError):
        encode(fields)

"""The sign-off as a document: canonical, sealed, resumed only where it still counts, complete or not."""

import json
from typing import Any

import pytest

from valvey.commissioning.judge import Verdict
from valvey.commissioning.line import Kind, Line
from valvey.commissioning.signoff import Entry, Lack, Signature, SignOff, dump, entry_of, lacks, load, resume

ONE = Line("valve/XV-101", Kind.VALVE, "XV-101", "opens", {"shuts_s": (1.75, 5.25)}, ("XV-101",), frozenset({"vc"}))
TWO = Line("leak/LDT-101", Kind.LEAK, "LDT-101", "wet it", {"delay_s": 5.0}, ("LDT-101",), frozenset({"panel"}))
DEVICES = {"vc": {"serial": "1"}, "panel": {"serial": "2"}}
AT = "2026-01-01T00:00:00Z"


def entry(line: Line, verdict: Verdict = Verdict.PASS, why: str = "") -> Entry:
    return entry_of(line, {"shuts_s": 3.49999, "others": ()}, verdict, why, "ann", AT)


def record(*entries: Entry, **changes: Any) -> SignOff:
    plain = SignOff(
        site="demo", rack="r01", simulated=True, digest="a" * 64, versions={"valvey": "0"}, devices=DEVICES, begun=AT,
        entries=entries, signed=Signature(by="ann", at=AT),
    )  # fmt: skip
    return plain.model_copy(update=changes)


FULL = record(entry(ONE), entry(TWO))


def test_what_was_written_is_read_again_byte_by_byte() -> None:
    data = dump(FULL)
    assert load(data) == FULL
    assert dump(load(data)) == data
    assert data.count(b"\n") == 1
    document = json.loads(data)
    assert list(document) == sorted(document)
    assert document["entries"][0]["measured"] == {"shuts_s": 3.5, "others": []}


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (b'"pass"', b'"fail"', "seal"),
        (b'"ann"', b'"bob"', "seal"),
        (b"valvey-sign-off/1", b"valvey-sign-off/9", "no sign-off"),
        (b"{", b"[{", "no JSON"),
    ],
)
def test_a_record_that_was_changed_afterwards_is_not_believed(old: bytes, new: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        load(dump(FULL).replace(old, new, 1))


def test_a_sealed_document_of_another_shape_is_not_believed() -> None:
    odd = record().model_copy(update={"site": 3})
    with pytest.warns(UserWarning, match="serialize"):
        data = dump(odd)
    with pytest.raises(ValueError, match="site"):
        load(data)
    with pytest.raises(ValueError, match="no sign-off"):
        load(b"[]")


def test_a_later_run_goes_on_where_the_last_one_ended() -> None:
    old = record(entry(ONE), entry(TWO, Verdict.FAIL, "stayed dry"))
    kept = resume(old, "a" * 64, DEVICES, (ONE, TWO), ())
    assert (set(kept.entries), kept.void) == ({ONE.id}, "")
    assert resume(None, "a" * 64, DEVICES, (ONE, TWO), ()).entries == {}


def test_a_waived_line_stands_and_a_line_named_is_done_again() -> None:
    old = record(entry(ONE), entry(TWO, Verdict.WAIVED, "no panel"))
    assert set(resume(old, "a" * 64, DEVICES, (ONE, TWO), ()).entries) == {ONE.id, TWO.id}
    assert set(resume(old, "a" * 64, DEVICES, (ONE, TWO), (ONE.id,)).entries) == {TWO.id}


def test_another_configuration_voids_everything_and_says_so() -> None:
    kept = resume(FULL, "b" * 64, DEVICES, (ONE, TWO), ())
    assert kept.entries == {}
    assert "configuration has changed" in kept.void


def test_an_exchanged_device_has_its_own_lines_done_again() -> None:
    kept = resume(FULL, "a" * 64, DEVICES | {"vc": {"serial": "9"}}, (ONE, TWO), ())
    assert (set(kept.entries), kept.void) == ({TWO.id}, "")


def test_a_line_that_expects_something_else_now_is_done_again() -> None:
    stricter = Line(ONE.id, ONE.kind, ONE.subject, ONE.what, {"shuts_s": (1.0, 2.0)}, ONE.tags, ONE.buses)
    assert set(resume(FULL, "a" * 64, DEVICES, (stricter, TWO), ()).entries) == {TWO.id}


def test_a_complete_and_signed_record_lacks_nothing() -> None:
    assert lacks(FULL, "demo", "r01", "a" * 64, (ONE, TWO)) == []


def test_everything_that_is_missing_or_differs_is_told_at_once() -> None:
    poor = record(entry(ONE, Verdict.FAIL, "never shut"), signed=None)
    assert lacks(poor, "demo", "r02", "b" * 64, (ONE, TWO)) == [
        Lack("rack", "is of demo/r01, not of demo/r02"),
        Lack("digest", f"is of another configuration: digest {'a' * 12}, now {'b' * 12}"),
        Lack(ONE.id, "fail: never shut"),
        Lack(TWO.id, "was not done"),
        Lack("signed", "nobody has signed it"),
    ]

"""The inventory: every way in which a device is not the one that was ordered, or not at its revision."""

from dataclasses import replace

import pytest

from racky.core.inventory import Behind, Expected, Identity, Mismatch, Release, Wrong, behind, compare, differs
from tests.racky.core.plans import identity

EXPECTED = (Expected("a", "racky-pwr-shelf", "S-a"), Expected("b", "racky-pwr-shelf"))
FOUND = {name: identity(name) for name in ("a", "b")}


def wrong(**changes: Identity | None) -> list[tuple[str, Wrong]]:
    found = {name: one for name, one in (FOUND | changes).items() if one is not None}
    return [(one.device, one.wrong) for one in compare(EXPECTED, found)]


def test_what_is_as_ordered_is_not_told() -> None:
    assert wrong() == []


def test_a_device_that_says_nothing_is_missing() -> None:
    assert wrong(b=None) == [("b", Wrong.MISSING)]
    assert wrong(b=identity("b", serial="").__class__("b", "Racky", "racky-pwr-shelf", "", "")) == [
        ("b", Wrong.MISSING)
    ]


def test_another_model_another_serial_a_stranger_and_a_twin_are_told() -> None:
    assert wrong(a=replace(FOUND["a"], model="other")) == [("a", Wrong.MODEL)]
    assert wrong(a=replace(FOUND["a"], serial="S-x")) == [("a", Wrong.SERIAL)]
    assert wrong(b=replace(FOUND["b"], serial="S-x")) == []  # any serial will do
    assert wrong(c=identity("c")) == [("c", Wrong.STRANGER)]
    assert wrong(b=replace(FOUND["b"], serial="S-a")) == [("a", Wrong.TWICE), ("b", Wrong.TWICE)]
    assert wrong(b=replace(FOUND["b"], serial="S-a", model="x")) == [("b", Wrong.MODEL)]  # makers count for themselves


def test_a_mismatch_reads_as_a_sentence() -> None:
    assert str(Mismatch("a", Wrong.SERIAL, "S-a", "S-x")) == "a: serial (expected S-a, found S-x)"


RELEASES = (Release("racky-pwr-shelf", "1.1.0", ("1.0.9",)), Release("other", "7"))


@pytest.mark.parametrize(
    ("runs", "late"), [("1.1.0", False), ("1.0.9", False), ("1.0.0", True), ("1.2.0", True), ("", True)]
)
def test_a_device_is_behind_unless_it_runs_what_is_wanted_or_accepted(runs: str, late: bool) -> None:
    """A newer one too: nobody has released it."""
    told = behind(RELEASES, {"a": identity("a", runs)})
    assert told == ((Behind("a", "racky-pwr-shelf", runs, RELEASES[0]),) if late else ())


def test_a_model_that_the_manifest_does_not_know_is_behind() -> None:
    told = behind(RELEASES[1:], FOUND)
    assert [str(one) for one in told] == [
        "a (racky-pwr-shelf): runs 1.1.0, the manifest wants no release of its model",
        "b (racky-pwr-shelf): runs 1.1.0, the manifest wants no release of its model",
    ]
    assert str(Behind("a", "m", "", RELEASES[0])) == "a (m): runs nothing known, the manifest wants 1.1.0"


def test_a_device_that_cannot_be_read_is_no_change_and_one_that_is_new_is() -> None:
    before = tuple(FOUND.values())
    assert differs(before, FOUND) == ()
    assert differs(before, {"a": FOUND["a"]}) == ()
    assert differs(before, FOUND | {"b": replace(FOUND["b"], serial="")}) == ()
    assert differs(before, FOUND | {"c": identity("c")}) == ("c",)
    assert differs(before, FOUND | {"b": replace(FOUND["b"], serial="new")}) == ("b",)
    newer = FOUND | {"b": replace(FOUND["b"], firmware="2")}
    assert differs(before, newer) == ("b",)
    assert differs(before, newer, firmware=False) == ()

"""A starting profile loads as what it was written from."""

from pathlib import Path

import pytest

from fieldkit import profile_file, yamlfile
from fieldkit.point import Point, PointType, Table, Verified, WordOrder
from fieldkit.probing.draft import MOST_POINTS, dumped, starting
from fieldkit.probing.extent import Block, Extent
from fieldkit.probing.guesses import Guess
from fieldkit.profile import Profile

PROFILES = Path(__file__).parents[3] / "configs" / "profiles"
CITE = "probe of 127.0.0.1:502 unit 1"
EXTENTS = {
    "holding": Extent(0, 50, 50, (Block(0, 3), Block(40, 2)), 40, 41),
    "coil": Extent(0, 3, 3, (Block(1, 2),), 2, None),
}


def loaded(text: str) -> Profile:
    return yamlfile.check(yamlfile.parse(text.encode(), "new.yaml"), Profile)


@pytest.mark.parametrize("path", sorted(PROFILES.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_profile_is_written_and_read_again_as_itself(path: Path) -> None:
    profile = profile_file.load(path)
    text = dumped(profile, "one line\nand another")
    assert text.startswith("# one line\n# and another\n")
    assert loaded(text) == profile


def test_every_register_that_answered_becomes_a_point_without_a_meaning_and_nothing_is_writable() -> None:
    profile = loaded(dumped(starting("acme_x1", CITE, EXTENTS, [], 0.0), "x"))
    assert list(profile.points) == [
        "holding_0",
        "holding_1",
        "holding_2",
        "holding_40",
        "holding_41",
        "coil_1",
        "coil_2",
    ]
    assert not any(point.writable for point in profile.points.values())
    assert {point.verified for point in profile.points.values()} == {Verified.NONE}
    assert (profile.max_registers, profile.functions, profile.holes_ok) == (40, (1, 3), False)
    assert profile.outputs == {}


def test_a_place_that_reads_as_expected_stands_as_it_was_found_and_no_second_claims_it() -> None:
    found = [
        Guess("holding", 40, PointType.F32, WordOrder.CDAB, 2.15, ("10",)),
        Guess("holding", 41, PointType.U16, None, 215, ("0.1",)),
    ]
    profile = loaded(dumped(starting("acme_x1", CITE, EXTENTS, found, 0.01), "x"))
    point: Point = profile.points["found_holding_40"]
    assert (point.type, point.word_order, point.conversion) == (PointType.F32, WordOrder.CDAB, (10.0, 0.0))
    assert not {"found_holding_41", "holding_40", "holding_41"} & set(profile.points)


def test_a_fixed_point_scale_keeps_its_range() -> None:
    found = [Guess("input", 30005, PointType.S16, None, 2752, ("[1, 128]",))]
    profile = loaded(dumped(starting("acme_x1", CITE, {}, found, 0.0), "x"))
    point = profile.points["found_input_30005"]
    assert point.conversion[0] == 1 / 128
    assert point.range == (-256.0, 32767 / 128)
    assert point.address_is_wire, "30005 looks like a sheet's number: it was read as it stands"
    assert profile.functions == (4,)


def test_a_draft_stops_at_so_many_points_and_refuses_to_be_empty() -> None:
    wide = {"input": Extent(0, 999, 999, (Block(0, 1000),), 125, None)}
    assert len(starting("acme_x1", CITE, wide, [], 0.0).points) == MOST_POINTS
    with pytest.raises(ValueError, match="nothing answered"):
        starting("acme_x1", CITE, {"input": Extent(0, 9, 9, (), 0, None)}, [], 0.0)


def test_discrete_inputs_keep_their_own_function() -> None:
    profile = starting("acme_x1", CITE, {"discrete": Extent(0, 0, 0, (Block(0, 1),), 1, None)}, [], 0.0)
    assert profile.points["discrete_0"].table is Table.DISCRETE
    assert profile.functions == (2,)

"""Charts as data: checks and picture."""

from enum import StrEnum

from fieldkit.chart import Row, dead_ends, hidden, mermaid, reachable, twins, unknown_states, unreachable


class Door(StrEnum):
    SHUT = "SHUT"
    OPEN = "OPEN"
    BROKEN = "BROKEN"
    GONE = "GONE"


ROWS = (
    Row("open", Door.SHUT, Door.OPEN, guard="unlocked"),
    Row("open", Door.SHUT, Door.SHUT),
    Row("shut", Door.OPEN, Door.SHUT),
    Row("kick", Door.OPEN, Door.BROKEN),
    Row("kick", Door.SHUT, Door.BROKEN),
)


def test_a_sound_chart_has_no_twins_and_hides_no_row() -> None:
    assert twins(ROWS) == ()
    assert hidden(ROWS) == ()


def test_two_rows_for_the_same_event_source_and_guard_are_twins() -> None:
    assert twins((*ROWS, Row("open", Door.SHUT, Door.BROKEN, guard="unlocked"))) == (("open", "SHUT", "unlocked"),)
    assert twins((*ROWS, Row("kick", Door.OPEN, Door.SHUT))) == (("kick", "OPEN", None),)


def test_a_row_behind_an_unguarded_one_is_hidden() -> None:
    late = Row("open", Door.SHUT, Door.BROKEN, guard="rusty")
    assert hidden((*ROWS, late)) == (late,)


def test_states_that_nothing_leads_to_are_named() -> None:
    assert reachable(ROWS, Door.SHUT) == {"SHUT", "OPEN", "BROKEN"}
    assert reachable(ROWS, Door.BROKEN) == {"BROKEN"}
    assert unreachable(ROWS, Door, Door.SHUT) == ("GONE",)


def test_states_that_nothing_leaves_are_named() -> None:
    assert dead_ends(ROWS, Door) == ("BROKEN", "GONE")


def test_a_state_that_the_list_does_not_know_is_named() -> None:
    assert unknown_states(ROWS, [Door.SHUT, Door.OPEN]) == ("BROKEN",)
    assert unknown_states(ROWS, Door) == ()


def test_the_picture_joins_arrows_between_the_same_states_and_leaves_staying_out() -> None:
    twice = Row("kick", Door.OPEN, Door.BROKEN, guard="hard")
    assert mermaid((*ROWS, twice, twice), Door.SHUT) == (
        "stateDiagram-v2\n"
        "    [*] --> SHUT\n"
        "    SHUT --> OPEN: open [unlocked]\n"
        "    OPEN --> SHUT: shut\n"
        "    OPEN --> BROKEN: kick, kick [hard]\n"
        "    SHUT --> BROKEN: kick\n"
    )


def test_the_picture_shows_staying_when_asked() -> None:
    assert "    SHUT --> SHUT: open\n" in mermaid(ROWS, Door.SHUT, show_stay=True)

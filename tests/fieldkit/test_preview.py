"""The same registers in every type and order."""

from fieldkit.point import WordOrder
from fieldkit.preview import preview


def test_all_orders_stand_side_by_side_and_the_doubtful_are_marked() -> None:
    first, last = preview([0x0000, 0x4220])
    floats = {wide.order: (wide.f32, wide.doubtful) for wide in first.wide}
    assert floats[WordOrder.CDAB] == (40.0, False)
    assert floats[WordOrder.ABCD][1]
    assert (first.hex, first.u16, first.text) == ("0000", 0, None)
    assert (last.hex, last.u16, last.s16, last.text, last.wide) == ("4220", 16928, 16928, "B", ())


def test_a_register_that_reads_as_text_shows_it() -> None:
    (row,) = preview([0x5858])
    assert (row.text, row.u16, row.bits) == ("XX", 22616, "0101100001011000")


def test_integers_and_what_is_no_number_are_shown_as_they_are() -> None:
    first, _ = preview([0xFFFF, 0xFFFE])
    wide = next(w for w in first.wide if w.order is WordOrder.ABCD)
    assert (wide.u32, wide.s32, wide.doubtful) == (0xFFFFFFFE, -2, True)
    assert first.s16 == -1

"""The writer: order, newest wins, what counts as acknowledged, and no life of its own."""

from fieldkit.bus import LinkError
from fieldkit.clock import SteppedClock, settle
from fieldkit.reading import Reason
from fieldkit.tag import WRITE_ACK
from tests.valvey.paper_field import OPEN, SHUT, writing


async def test_the_permit_rises_last(clock: SteppedClock) -> None:
    async with writing(clock) as rig:
        assert rig.writer.put(OPEN)
        await settle()
        assert rig.order() == [("valves", 1), ("permit", 1)]


async def test_the_permit_falls_first_and_is_confirmed_after_the_valves(clock: SteppedClock) -> None:
    async with writing(clock) as rig:
        rig.writer.put(OPEN)
        await settle()
        rig.bus.wrote.clear()
        rig.writer.put(SHUT)
        await settle()
        assert rig.order() == [("permit", 0), ("valves", 0), ("permit", 0)]


async def test_a_permit_that_cannot_be_taken_back_keeps_no_valve_from_shutting(clock: SteppedClock) -> None:
    async with writing(clock) as rig:
        rig.writer.put(OPEN)
        await settle()
        rig.bus.wrote.clear()
        rig.bus.registers.clear()
        real, failed = rig.bus.write, list[int]()

        async def write(unit: int, table: str, address: int, words: list[int]) -> None:
            if address == 8 and not failed:
                failed.append(address)
                raise LinkError(Reason.TIMEOUT, "no answer")
            await real(unit, table, address, words)

        rig.bus.write = write  # type: ignore[assignment]
        rig.writer.put(SHUT)
        await settle()
        assert rig.order() == [("valves", 0), ("permit", 0)]


async def test_a_permit_does_not_rise_when_the_valves_were_not_acknowledged(clock: SteppedClock) -> None:
    async with writing(clock) as rig:
        rig.refuse(None)
        rig.writer.put(OPEN)
        await settle()
        assert rig.writer.acknowledged_s is None
        assert WRITE_ACK not in rig.readings
        assert rig.writer.counters.failed == 1


async def test_a_trip_overtakes_a_rise_that_is_under_way(clock: SteppedClock) -> None:
    async with writing(clock) as rig:
        rig.bus.open.clear()
        rig.writer.put(OPEN)
        await settle()
        assert rig.bus.waiting == 1, "the valve block is under way"
        rig.writer.put(SHUT)
        rig.bus.open.set()
        await settle(30)
        assert ("permit", 1) not in rig.order()
        assert rig.order()[-3:] == [("permit", 0), ("valves", 0), ("permit", 0)]


async def test_the_newest_of_several_demands_is_written_and_the_others_never(clock: SteppedClock) -> None:
    async with writing(clock) as rig:
        rig.writer.put(OPEN | {"FCV-101": 10.0})
        rig.writer.put(OPEN | {"FCV-101": 20.0})
        await settle()
        assert [words[4] for _, address, words in rig.bus.wrote if address == 0] == [2000]


async def test_an_unchanged_demand_is_written_again_every_quarter_of_a_second_and_not_more_often(
    clock: SteppedClock,
) -> None:
    async with writing(clock) as rig:
        for _ in range(51):
            rig.writer.put(OPEN)
            await clock.advance(0.02)
        assert rig.order().count(("valves", 1)) == 4


async def test_without_scans_nothing_is_written(clock: SteppedClock) -> None:
    async with writing(clock) as rig:
        rig.writer.put(OPEN)
        await clock.advance(10.0)
        assert rig.order().count(("valves", 1)) == 1


async def test_an_empty_demand_ends_all_writing(clock: SteppedClock) -> None:
    async with writing(clock) as rig:
        rig.writer.put(OPEN)
        await settle()
        rig.bus.wrote.clear()
        for _ in range(20):
            rig.writer.put({})
            await clock.advance(0.1)
        assert rig.bus.wrote == []


async def test_a_failed_write_is_tried_again_at_the_next_scan(clock: SteppedClock) -> None:
    async with writing(clock) as rig:
        rig.refuse(None)
        rig.writer.put(OPEN)
        await settle()
        rig.bus.fail.clear()
        rig.writer.put(OPEN)
        await clock.advance(0.021)
        rig.writer.put(OPEN)
        await settle()
        assert rig.writer.acknowledged_s is not None


async def test_a_read_back_that_differs_is_no_acknowledgement(clock: SteppedClock) -> None:
    async with writing(clock) as rig:
        rig.bus.clamp = 0
        rig.writer.put(OPEN)
        await settle()
        assert rig.writer.acknowledged_s is None


async def test_an_acknowledgement_is_a_reading_with_its_own_time(clock: SteppedClock) -> None:
    async with writing(clock) as rig:
        await clock.advance(1.0)
        rig.writer.put(OPEN)
        await settle()
        reading = rig.readings[WRITE_ACK]
        assert (reading.at_s, reading.value) == (clock.now_s(), clock.now_s())


async def test_withheld_valves_leave_the_permit_alone_and_a_withheld_permit_the_valves(clock: SteppedClock) -> None:
    async with writing(clock) as rig:
        rig.writer.put({tag: value for tag, value in OPEN.items() if tag != "XS-101"})
        await settle()
        assert rig.order() == [("valves", 1)]
        rig.writer.put({"XS-101": 0.0})
        await settle()
        assert rig.order()[1:] == [("permit", 0), ("permit", 0)]


# --- what is written once ----------------------------------------------------------------------------------------------


async def test_a_stroke_is_written_once_after_the_valves_and_the_permit_and_never_repeated(clock: SteppedClock) -> None:
    async with writing(clock) as rig:
        rig.writer.put(OPEN)
        await settle()
        rig.bus.wrote.clear()
        assert rig.writer.put({**OPEN, "XK-101": 2.0}) is False  # the demand is the same
        await settle()
        assert rig.order() == [("valves", 1), ("permit", 1), ("stroke", 2)]
        for _ in range(5):
            rig.writer.put(OPEN)
            await clock.advance(0.26)
        assert rig.order()[3:].count(("stroke", 2)) == 0
        assert rig.order()[3:].count(("valves", 1)) >= 4


async def test_a_stroke_whose_valves_are_not_acknowledged_is_dropped(clock: SteppedClock) -> None:
    async with writing(clock) as rig:
        rig.writer.put(OPEN)
        await settle()
        rig.bus.wrote.clear()
        rig.refuse(0)
        rig.writer.put({**OPEN, "XK-101": 1.0})
        await settle()
        rig.bus.fail.clear()
        await clock.advance(0.31)
        rig.writer.put(OPEN)
        await settle()
        assert ("stroke", 1) not in rig.order()


async def test_a_stroke_that_was_to_be_written_is_dropped_for_a_newer_demand(clock: SteppedClock) -> None:
    async with writing(clock) as rig:
        rig.writer.put(OPEN)
        await settle()
        rig.bus.wrote.clear()
        rig.bus.open.clear()
        rig.writer.put({**OPEN, "XK-101": 1.0})
        await settle()
        rig.writer.put(SHUT)
        rig.bus.open.set()
        await settle()
        assert ("stroke", 1) not in rig.order()
        assert rig.order()[-2:] == [("valves", 0), ("permit", 0)]


async def test_a_stroke_that_the_device_refuses_is_not_tried_again(clock: SteppedClock) -> None:
    async with writing(clock) as rig:
        rig.writer.put(OPEN)
        await settle()
        rig.bus.wrote.clear()
        real, tried = rig.bus.write, list[int]()

        async def write(unit: int, table: str, address: int, words: list[int], *, multiple: bool = False) -> None:
            if address == 16:
                tried.append(words[0])
                raise LinkError(Reason.EXCEPTION, "illegal address")
            await real(unit, table, address, words, multiple=multiple)

        rig.bus.write = write  # type: ignore[assignment]
        rig.writer.put({**OPEN, "XK-101": 1.0})
        await settle()
        for _ in range(10):
            await clock.advance(0.05)
            rig.writer.put(OPEN)
            await settle()
        assert tried == [1]
        assert rig.writer.counters.failed == 1
        assert rig.writer.acknowledged_s is not None
        assert clock.now_s() - rig.writer.acknowledged_s <= 0.26  # the valves are written as ever

"""A device: what a good poll, a bad one and a write do to readings and registers."""

import pytest

from fieldkit.bus import LinkError
from fieldkit.clock import SteppedClock
from fieldkit.device import DORMANT_AFTER, Device
from fieldkit.point import Point, PointType, Table, Verified, WordOrder
from fieldkit.profile import Identity, Profile
from fieldkit.reading import Quality, Reading, Reason
from fieldkit.units import Unit
from fieldkit.words import EncodeError
from tests.fieldkit.paper_bus import PaperBus


def word(table: Table, address: int, **more: object) -> Point:
    fields: dict[str, object] = {
        "table": table, "address": address, "type": PointType.U16, "scale": 1.0, "raw_unit": Unit.NONE,
        "unit": Unit.NONE, "range": (0.0, 65535.0), "verified": Verified.MANUAL, "cite": "invented for this test",
    }  # fmt: skip
    return Point(**(fields | more))  # type: ignore[arg-type]


def profile(**more: object) -> Profile:
    points = {
        "flow": word(Table.INPUT, 0),
        "pressure": word(Table.INPUT, 1),
        "odd": word(Table.INPUT, 2),
        "beat": word(Table.INPUT, 3, heartbeat=True),
        "far": word(Table.INPUT, 100),
        "slow": word(Table.INPUT, 200),
        "valve_a": word(Table.HOLDING, 0, range=(0.0, 1.0), writable=True),
        "valve_b": word(Table.HOLDING, 1, range=(0.0, 1.0), writable=True),
        "permit": word(Table.HOLDING, 8, range=(0.0, 1.0), writable=True),
        "expiry": word(Table.HOLDING, 100, writable=True, persistent=True),
    }
    fields: dict[str, object] = {
        "profile": "test_device", "maker": "test", "model": "device", "cite": "invented for this test",
        "word_order": WordOrder.ABCD, "max_registers": 125, "holes_ok": False, "min_gap_s": 0.0, "connections": 2,
        "points": points, "expiries": {}, "outputs": {}, "identity": None,
    }  # fmt: skip
    return Profile(**(fields | more))  # type: ignore[arg-type]


TAGS = {
    "FT-1": ("flow", "fast"),
    "PT-1": ("pressure", "fast"),
    "XX-1": ("odd", "fast"),
    "FF-1": ("far", "fast"),
    "SS-1": ("slow", "slow"),
}


class Rig:
    def __init__(self, **more: object) -> None:
        self.clock = SteppedClock(1000.0)
        self.bus = PaperBus({("input", n): n + 10 for n in range(300)})
        self.readings: dict[str, Reading] = {}
        self.notices: list[str] = []
        self.device = Device(
            "bench", 1, profile(), self.bus, TAGS, self.readings, self.clock,
            notice=lambda _, what: self.notices.append(what), **more,  # type: ignore[arg-type]
        )  # fmt: skip

    def beat(self) -> None:
        self.bus.registers["input", 3] = (self.bus.registers["input", 3] + 1) & 0xFFFF

    def values(self) -> dict[str, float | None]:
        return {tag: reading.value for tag, reading in self.readings.items()}


def timeout() -> LinkError:
    return LinkError(Reason.TIMEOUT, "bench unit 1: no answer")


def test_before_the_first_poll_every_tag_says_that_it_was_never_read() -> None:
    rig = Rig()
    assert set(rig.readings) == set(TAGS)
    assert {r.reason for r in rig.readings.values()} == {Reason.NEVER_READ}
    assert rig.device.lanes == ("fast", "slow")


async def test_a_poll_reads_each_span_of_its_lane_once_and_stamps_the_time_of_the_reply() -> None:
    rig = Rig()
    assert await rig.device.poll("fast")
    assert rig.bus.asked == [("input", 0, 4), ("input", 100, 1)]
    assert rig.values() == {"FT-1": 10.0, "PT-1": 11.0, "XX-1": 12.0, "FF-1": 110.0, "SS-1": None}
    assert rig.readings["FT-1"].at_s == pytest.approx(1000.0)
    assert await rig.device.poll("slow")
    assert rig.values()["SS-1"] == pytest.approx(210.0)


async def test_a_failed_span_loses_its_tags_values_at_once_and_no_other_tags() -> None:
    rig = Rig()
    await rig.device.poll("fast")
    rig.bus.fail[0] = timeout()
    rig.beat()
    await rig.clock.advance(1.0)
    assert not await rig.device.poll("fast")
    assert rig.values() == {"FT-1": None, "PT-1": None, "XX-1": None, "FF-1": 110.0, "SS-1": None}
    lost = rig.readings["FT-1"]
    assert (lost.quality, lost.reason) == (Quality.BAD, Reason.TIMEOUT)
    assert lost.at_s == pytest.approx(1001.0)
    assert rig.device.counters.failed_spans[Reason.TIMEOUT] == 1


async def test_a_failure_is_told_once_and_its_end_once() -> None:
    rig = Rig()
    rig.bus.fail[0] = timeout()
    for _ in range(5):
        await rig.device.poll("fast")
    rig.bus.fail.clear()
    for _ in range(5):
        rig.beat()
        await rig.device.poll("fast")
    assert rig.notices == ["bench unit 1: no answer", "input 0 is read again"]


async def test_a_merged_read_that_is_refused_is_asked_in_halves_until_only_the_guilty_value_is_bad() -> None:
    rig = Rig()
    rig.bus.holes = {1}
    for _ in range(12):
        rig.beat()
        await rig.device.poll("fast")
    assert rig.values()["FT-1"] == pytest.approx(10.0)
    assert rig.values()["XX-1"] == pytest.approx(12.0)
    assert rig.readings["PT-1"].reason is Reason.EXCEPTION
    assert rig.device.counters.splits == 2


async def test_one_refusal_splits_nothing() -> None:
    rig = Rig()
    for _ in range(6):
        rig.bus.holes = {1}
        await rig.device.poll("fast")
        rig.bus.holes = set()
        rig.beat()
        await rig.device.poll("fast")
    assert rig.device.counters.splits == 0


async def test_a_silent_device_is_probed_seldom_and_comes_back_with_its_first_answer() -> None:
    rig = Rig(probe_s=5.0)
    rig.bus.fail[None] = timeout()
    for _ in range(DORMANT_AFTER):
        await rig.device.poll("fast")
    assert rig.device.dormant
    asked = len(rig.bus.asked)
    for _ in range(20):
        assert not await rig.device.poll("fast")
    assert len(rig.bus.asked) == asked
    await rig.clock.advance(5.0)
    await rig.device.poll("fast")
    assert len(rig.bus.asked) == asked + 1
    rig.bus.fail.clear()
    await rig.clock.advance(5.0)
    assert await rig.device.poll("fast")
    assert not rig.device.dormant
    assert rig.values()["FF-1"] == pytest.approx(110.0)
    assert rig.notices.count("answers again") == 1


async def test_a_device_that_answers_with_exceptions_is_not_dormant() -> None:
    rig = Rig()
    rig.bus.fail[None] = LinkError(Reason.EXCEPTION, "busy", 6)
    for _ in range(3 * DORMANT_AFTER):
        await rig.device.poll("fast")
    assert not rig.device.dormant


async def test_a_heartbeat_that_stands_still_makes_everything_of_the_device_bad() -> None:
    rig = Rig()
    for _ in range(4):
        await rig.device.poll("fast")
        await rig.device.poll("slow")
        await rig.clock.advance(0.2)
    assert {r.reason for r in rig.readings.values()} == {Reason.STUCK}
    rig.beat()
    await rig.device.poll("fast")
    assert rig.values()["FT-1"] == pytest.approx(10.0)
    assert [n for n in rig.notices if "heart" in n] == [
        "its heartbeat stands still: what it answers is a frozen copy",
        "its heart beats",
    ]


async def test_quick_polls_within_one_beat_are_no_frozen_heart() -> None:
    rig = Rig()
    for _ in range(20):
        await rig.device.poll("fast")
        await rig.clock.advance(0.02)
    assert not rig.device.frozen


async def test_an_impossible_step_is_doubted_and_after_a_reconnect_a_start_value_too() -> None:
    described = profile(points={"flow": word(Table.INPUT, 0, max_rate=10.0)})
    clock, bus, readings = SteppedClock(), PaperBus({("input", 0): 100}), dict[str, Reading]()
    norms = {"FT-1": (50.0, 200.0)}
    device = Device("bench", 1, described, bus, {"FT-1": ("flow", "fast")}, readings, clock, norms=norms)

    async def polled(value: int) -> tuple[Quality, Reason | None]:
        bus.registers["input", 0] = value
        await clock.advance(1.0)
        await device.poll("fast")
        return readings["FT-1"].quality, readings["FT-1"].reason

    for _ in range(5):
        assert await polled(100) == (Quality.GOOD, None)
    assert await polled(150) == (Quality.UNCERTAIN, Reason.RATE)
    assert await polled(100) == (Quality.GOOD, None)
    for _ in range(5):
        await polled(100)
    bus.fail[None] = LinkError(Reason.LINK_DOWN, "pulled")
    assert await polled(100) == (Quality.BAD, Reason.LINK_DOWN)
    bus.fail.clear()
    assert await polled(0) == (Quality.UNCERTAIN, Reason.RANGE)


async def test_a_write_is_one_request_read_back_on_its_own_connection() -> None:
    other = PaperBus()
    rig = Rig(write_bus=other)
    assert await rig.device.write({"valve_b": 1.0, "valve_a": 0.0}) == pytest.approx(1000.0)
    assert other.wrote == [("holding", 0, [0, 1])]
    assert other.asked == [("holding", 0, 2)]
    assert rig.bus.wrote == []
    await rig.device.close()
    assert (rig.bus.closed, other.closed) == (True, True)


async def test_a_value_that_the_device_changed_is_no_success() -> None:
    rig = Rig()
    rig.bus.clamp = 0
    with pytest.raises(LinkError, match=r"wrote \[1\].*read back 00 00") as caught:
        await rig.device.write({"permit": 1.0})
    assert caught.value.reason is Reason.ECHO
    assert rig.device.counters.failed_writes == 1
    await rig.device.write({"permit": 1.0}, read_back=False)


@pytest.mark.parametrize(
    ("values", "error", "text"),
    [
        ({"valve_a": 1.0, "permit": 1.0}, ValueError, "do not lie side by side"),
        ({"valve_a": 2.0}, EncodeError, "out of range"),
        ({"valve_a": float("nan")}, EncodeError, "out of range"),
        ({"flow": 1.0}, EncodeError, "not writable"),
        ({"valve_c": 1.0}, ValueError, "no point 'valve_c'"),
        ({"expiry": 150.0}, ValueError, "wears out"),
        ({}, ValueError, "nothing to write"),
    ],
)
async def test_what_cannot_be_written_is_refused_before_anything_is_sent(
    values: dict[str, float], error: type[Exception], text: str
) -> None:
    rig = Rig()
    with pytest.raises(error, match=text):
        await rig.device.write(values)
    assert rig.bus.wrote == []


async def test_a_cell_that_wears_out_is_written_when_it_is_meant() -> None:
    rig = Rig()
    await rig.device.write({"expiry": 150.0}, persistent=True)
    assert rig.bus.registers["holding", 100] == 150


async def test_a_device_tells_who_it_is_and_whether_that_was_expected() -> None:
    model = Point(table=Table.INPUT, address=10, type=PointType.STRING, length=4, verified=Verified.MANUAL, cite="test")
    described = profile(
        points={"model": model, "flow": word(Table.INPUT, 0)}, identity=Identity(point="model", expect="ABCD")
    )
    bus = PaperBus({("input", 10): 0x4142, ("input", 11): 0x4344})
    device = Device("bench", 1, described, bus, {}, {}, SteppedClock())
    assert await device.identify() == ("ABCD", True)
    bus.registers["input", 11] = 0
    assert await device.identify() == ("AB", False)
    assert await Rig().device.identify() == (None, True)


async def test_points_can_be_read_outside_the_lanes_and_both_paths_warmed() -> None:
    other = PaperBus()
    rig = Rig(write_bus=other)
    assert (await rig.device.read_now(["flow", "far"]))["far"].value == pytest.approx(110.0)
    rig.bus.asked.clear()
    await rig.device.warm()
    assert (rig.bus.asked, other.asked) == ([("input", 0, 1)], [("holding", 0, 1)])

"""What the coordinator leaves a rack, as it arrives: the retained state, the sign of life, and what is neither."""

import pytest
from pydantic import JsonValue

from fieldkit import envelope
from fieldkit.mqtt_types import Incoming
from fieldkit.outbox import Properties
from fieldkit.reading import Quality, Reading
from fieldkit.units import Unit
from valvey.ceiling_box import CeilingBox
from valvey.core.steering import CEILING_TAG

STATE, ALIVE = "racky/v1/demo/cdu1/loop/state", "racky/v1/demo/cdu1/loop/availability"


class Bench:
    """A box, its readings and the time."""

    def __init__(self, loop: str | None = "cdu1") -> None:
        self.readings: dict[str, Reading] = {}
        self.now_s = 100.0
        self.box = CeilingBox("demo", loop, "r01", self.readings, lambda: self.now_s)

    @property
    def told(self) -> tuple[float | None, float] | None:
        reading = self.readings.get(CEILING_TAG)
        return None if reading is None else (reading.value, reading.at_s)

    def hear(self, topic: str, payload: bytes, *, retain: bool = False) -> None:
        self.box.message(Incoming(topic, payload, retain, Properties(), 0))

    def state(self, ceilings: JsonValue, *, retain: bool = False) -> None:
        state = envelope.State(
            simulated=True, boot_id="b", wall_s=1.0, state="SHARING", step=None, since_wall_s=1.0, state_seq=4, latches=(),
            locks=(), bypasses=(), armed=True, inventory=None, tested=None, grants=(), config_digest="",
            detail={} if ceilings is None else {"ceilings": ceilings},
        )  # fmt: skip
        self.hear(STATE, envelope.dump(state), retain=retain)

    def alive(self, status: str = "online", *, retain: bool = False) -> None:
        payload = envelope.Availability(simulated=True, status=status, version="1", boot_id="b", since_wall_s=1.0)  # type: ignore[arg-type]
        self.hear(ALIVE, envelope.dump(payload), retain=retain)


def test_it_listens_to_the_coordinators_state_and_sign_of_life_and_without_one_to_nobody() -> None:
    assert Bench().box.filters() == [STATE, ALIVE]
    assert Bench(None).box.filters() == []


@pytest.mark.parametrize("retain", [False, True])
def test_a_ceiling_becomes_a_reading_with_the_time_at_which_it_was_heard(retain: bool) -> None:
    bench = Bench()
    bench.state({"r01": {"flow_lpm": 150.5, "power_kw": 96.2}, "r02": {"flow_lpm": 80.0}}, retain=retain)
    assert bench.readings[CEILING_TAG] == Reading(CEILING_TAG, 150.5, Unit.L_MIN, Quality.GOOD, 100.0)
    assert bench.box.counters.heard == 1


@pytest.mark.parametrize("ceilings", [None, {}, {"r02": {"flow_lpm": 80.0}}])
def test_a_coordinator_that_limits_nobody_leaves_as_much_as_is_wanted(ceilings: JsonValue) -> None:
    bench = Bench()
    bench.state({"r01": {"flow_lpm": 150.0}})
    bench.now_s = 101.0
    bench.state(ceilings)
    assert bench.told == (0.0, 101.0)


@pytest.mark.parametrize(
    "ceilings",
    [
        5.0,
        [],
        {"r01": 150.0},
        {"r01": {}},
        {"r01": {"flow_lpm": "150"}},
        {"r01": {"flow_lpm": True}},
        {"r01": {"flow_lpm": 0.0}},
        {"r01": {"flow_lpm": -1.0}},
        {"r01": {"flow_lpm": 1e6}},
    ],
)
def test_what_is_no_ceiling_changes_nothing(ceilings: JsonValue) -> None:
    bench = Bench()
    bench.state({"r01": {"flow_lpm": 150.0}})
    bench.now_s = 101.0
    bench.state(ceilings)
    assert bench.told == (150.0, 100.0)
    assert (bench.box.counters.heard, bench.box.counters.strange) == (1, 1)


@pytest.mark.parametrize("topic", [STATE, ALIVE])
@pytest.mark.parametrize("payload", [b"", b"{}", b"\xff", b'{"v":1}'])
def test_what_cannot_be_read_is_counted(topic: str, payload: bytes) -> None:
    bench = Bench()
    bench.hear(topic, payload)
    assert bench.told is None
    assert bench.box.counters.strange == 1


def test_a_live_sign_of_life_keeps_what_was_said_last() -> None:
    bench = Bench()
    bench.alive()
    assert bench.told is None
    bench.state({"r01": {"flow_lpm": 150.0}})
    bench.now_s = 160.0
    bench.alive()
    assert bench.told == (150.0, 160.0)
    assert bench.box.counters.heard == 2


def test_a_kept_sign_of_life_or_a_last_will_is_none() -> None:
    bench = Bench()
    bench.state({"r01": {"flow_lpm": 150.0}})
    bench.now_s = 160.0
    bench.alive(retain=True)
    bench.alive("offline")
    assert bench.told == (150.0, 100.0)
    assert (bench.box.counters.heard, bench.box.counters.strange) == (1, 0)

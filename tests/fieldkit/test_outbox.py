"""What waits to be published, and how it leaves."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldkit.clock import settle
from fieldkit.drain import WINDOW, drain
from fieldkit.mqtt_types import Quarrel
from fieldkit.outbox import Keep, Outbox, Outgoing


def sample(topic: str, text: str = "") -> Outgoing:
    return Outgoing(topic, text.encode())


def event(text: str) -> Outgoing:
    return Outgoing("event", text.encode(), 1, keep=Keep.EVERY)


def emptied(box: Outbox) -> list[Outgoing]:
    out = []
    while (message := box.take()) is not None:
        out.append(message)
    return out


def test_a_newer_sample_takes_the_place_of_the_older_without_losing_its_turn() -> None:
    box = Outbox()
    for text in "123":
        box.put(sample("a", text))
        box.put(sample("b", text))
    assert emptied(box) == [sample("a", "3"), sample("b", "3")]


def test_too_many_topics_lose_the_oldest_and_it_is_counted() -> None:
    box = Outbox(most_topics=2)
    for topic in "abc":
        box.put(sample(topic))
    assert [m.topic for m in emptied(box)] == ["b", "c"]
    assert box.dropped_latest == 1


@pytest.mark.parametrize("box", [Outbox(most_every=3), Outbox(most_every_bytes=3)])
def test_events_stay_in_order_and_beyond_the_bound_the_oldest_goes_and_is_counted(box: Outbox) -> None:
    for text in "12345":
        box.put(event(text))
    assert [m.payload for m in emptied(box)] == [b"3", b"4", b"5"]
    assert box.dropped_every == 2


def test_an_hours_outage_at_five_events_a_second_loses_none() -> None:
    box = Outbox()
    for n in range(18_000):
        box.put(event(f"{n:0300}"))
    assert box.dropped_every == 0


def test_neither_kind_waits_for_all_of_the_other() -> None:
    box = Outbox()
    for text in "123":
        box.put(event(text))
        box.put(sample(text))
    kinds = [m.keep for m in emptied(box)]
    assert kinds[:4] in ([Keep.EVERY, Keep.LATEST] * 2, [Keep.LATEST, Keep.EVERY] * 2)


@given(st.lists(st.sampled_from(["event", "a", "b"]), max_size=30), st.integers(0, 30))
def test_what_is_put_back_leaves_again_in_the_same_order(kinds: list[str], taken: int) -> None:
    messages = [event(str(n)) if kind == "event" else sample(kind, str(n)) for n, kind in enumerate(kinds)]
    once, twice = Outbox(), Outbox()
    for message in messages:
        once.put(message)
        twice.put(message)
    first = [m for m in (twice.take() for _ in range(taken)) if m is not None]
    twice.put_back(first)
    assert len(twice) == len(once)

    def events(box: Outbox) -> list[Outgoing]:
        return [m for m in emptied(box) if m.keep is Keep.EVERY]

    assert events(twice) == events(once)


def test_a_sample_put_back_does_not_replace_a_newer_one() -> None:
    box = Outbox()
    box.put(sample("a", "old"))
    old = box.take()
    assert old is not None
    box.put(sample("a", "new"))
    box.put_back([old])
    assert emptied(box) == [sample("a", "new")]


async def test_events_go_out_several_at_a_time_and_those_not_acknowledged_come_back_in_order() -> None:
    box, wake = Outbox(), asyncio.Event()
    wire: list[Outgoing] = []
    acknowledgements: dict[int, asyncio.Future[None]] = {}
    delivered = 0

    async def publish(message: Outgoing) -> None:
        wire.append(message)
        if message.qos:
            acknowledgements[len(wire)] = asyncio.get_running_loop().create_future()
            await acknowledgements[len(wire)]

    def sent() -> None:
        nonlocal delivered
        delivered += 1

    for n in range(50):
        box.put(event(str(n)))
    task = asyncio.create_task(drain(box, wake, publish, sent))
    await settle(100)
    assert [m.payload for m in wire] == [str(n).encode() for n in range(WINDOW)]
    for n in range(1, 6):
        acknowledgements[n].set_result(None)
    await settle(100)
    assert (len(wire), delivered) == (WINDOW + 5, 5)
    acknowledgements[6].set_exception(ConnectionError("lost"))
    with pytest.raises(ConnectionError):
        await task
    assert [m.payload for m in emptied(box)] == [str(n).encode() for n in range(5, 50)]


async def test_a_sample_that_could_not_leave_comes_back_too() -> None:
    box, wake = Outbox(), asyncio.Event()

    async def publish(_: Outgoing) -> None:
        await settle(1)
        raise ConnectionError("lost")

    box.put(sample("a", "1"))
    with pytest.raises(ConnectionError):
        await drain(box, wake, publish, lambda: None)
    assert emptied(box) == [sample("a", "1")]


def test_four_drops_within_thirty_seconds_are_a_quarrel_and_slower_ones_are_not() -> None:
    quick, slow = Quarrel(), Quarrel()
    assert [quick.dropped(t) for t in (0.0, 10.0, 20.0, 30.0)] == [False, False, False, True]
    assert not any(slow.dropped(11.0 * n) for n in range(20))

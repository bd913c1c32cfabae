"""Waiting for what a broker tells: looked at with each piece of news, and never longer than was allowed."""

import asyncio
import json

from fieldkit import envelope
from fieldkit.asking import Conversation, until
from fieldkit.mqtt_types import Incoming
from fieldkit.outbox import Properties
from fieldkit.topics import Daemon


async def test_what_holds_already_is_not_waited_for() -> None:
    assert await until(lambda: True, asyncio.Event(), 0.0)


async def test_what_never_comes_is_given_up_in_time() -> None:
    assert not await until(lambda: False, asyncio.Event(), 0.0)
    assert not await until(lambda: False, asyncio.Event(), 0.01)


async def test_it_is_looked_at_with_each_piece_of_news_and_only_then() -> None:
    news, looks = asyncio.Event(), 0

    def third() -> bool:
        nonlocal looks
        looks += 1
        asyncio.get_running_loop().call_soon(news.set)
        return looks == 3

    assert await until(third, news, 60.0)
    assert looks == 3


async def test_what_comes_true_at_the_last_moment_without_news_counts() -> None:
    loop = asyncio.get_running_loop()
    begun_s = loop.time()
    assert await until(lambda: loop.time() - begun_s >= 0.01, asyncio.Event(), 0.02)


ABOUT = {"v": 1, "simulated": False}
STEERING = "\x1b[31m red\r\nlatched nothing\x9b\u202e"


def test_no_text_of_a_broker_goes_beyond_its_line() -> None:
    latch = {"sif": "SIF-1", "since_wall_s": 1.0, "cause": f"LDT-101{STEERING}"}
    state = {
        **ABOUT, "boot_id": "b", "wall_s": 1.0, "state": f"FLOWING{STEERING}", "step": None, "since_wall_s": 1.0, "state_seq": 1,
        "latches": [latch], "locks": [], "bypasses": [], "armed": True, "inventory": "full", "tested": True, "grants": [],
        "config_digest": "d", "detail": {f"key{STEERING}": [STEERING, 7, None]},
    }  # fmt: skip
    talk = Conversation("demo", "r01", Daemon.VALVEY, "ann")
    talk.heard(Incoming("racky/v1/demo/r01/valvey/state", json.dumps(state).encode(), True, Properties()))
    seen = talk.seen.state
    assert isinstance(seen, envelope.State)
    line = " [31m red  latched nothing  "
    assert (seen.state, seen.latches[0].cause) == (f"FLOWING{line}", f"LDT-101{line}")
    assert seen.detail == {f"key{line}": [line, 7, None]}
    assert (seen.inventory, seen.simulated, seen.state_seq) == ("full", False, 1)

"""Writing a packet when it is made."""

import asyncio
import socket
import threading
from collections.abc import Iterator

import pytest

from fieldkit.clock import settle
from fieldkit.flush import PromptWriter


class Packets:
    """A client that needs ``writes`` writes, or raises."""

    def __init__(self, writes: int, error: Exception | None = None) -> None:
        self.left = writes
        self.error = error
        self.threads: set[int] = set()

    def loop_write(self) -> None:
        self.threads.add(threading.get_ident())
        if self.error is not None:
            raise self.error
        self.left -= 1

    def want_write(self) -> bool:
        return self.left > 0


@pytest.fixture
def wire() -> Iterator[socket.socket]:
    one, other = socket.socketpair()
    one.setblocking(False)
    yield one
    one.close()
    other.close()


async def test_a_packet_leaves_in_the_next_turn_and_the_socket_is_watched_only_for_what_is_left(
    wire: socket.socket,
) -> None:
    failures: list[Exception] = []
    writer, packets = PromptWriter(failures.append), Packets(3)
    writer.wanted(packets, None, wire)
    await settle()
    assert packets.left <= 0
    writer.written(packets, None, wire)
    assert not asyncio.get_running_loop().remove_writer(wire.fileno())
    assert failures == []


async def test_a_packet_made_on_another_thread_is_written_on_the_loops(wire: socket.socket) -> None:
    writer, packets = PromptWriter(lambda _: None), Packets(1)
    await asyncio.to_thread(writer.wanted, packets, None, wire)
    await settle()
    assert packets.threads == {threading.get_ident()}


async def test_a_socket_closed_in_the_meantime_is_left_alone(wire: socket.socket) -> None:
    writer, packets = PromptWriter(lambda _: None), Packets(1)
    writer.wanted(packets, None, wire)
    wire.close()
    await settle()
    assert packets.left == 1
    writer.written(packets, None, wire)


async def test_a_write_that_fails_is_told(wire: socket.socket) -> None:
    failures: list[Exception] = []
    writer = PromptWriter(failures.append)
    writer.wanted(Packets(1, BrokenPipeError("gone")), None, wire)
    await settle()
    assert [str(e) for e in failures] == ["gone"]

"""Emptying an outbox into a connection: in order, several under way, nothing lost when the connection ends."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from fieldkit.outbox import Outbox, Outgoing

WINDOW = 20
"""QoS 1 messages under way together: a broker with Nagle acknowledges one in 40 ms."""


async def drain(
    outbox: Outbox, wake: asyncio.Event, publish: Callable[[Outgoing], Awaitable[None]], sent: Callable[[], None]
) -> None:
    """Publish what is put into ``outbox`` until ``publish`` raises, which is raised again, or until cancelled.

    wake  set by whoever puts something into the box
    sent  called for each message that was delivered (QoS 1: acknowledged)

    What was taken and not delivered goes back into the box, in order: at least once, not at most.
    """
    loop = asyncio.get_running_loop()
    window: deque[tuple[Outgoing, asyncio.Future[None]]] = deque()
    try:
        while True:
            wake.clear()
            while window and window[0][1].done():
                window[0][1].result()
                window.popleft()
                sent()
            message = outbox.take() if len(window) < WINDOW else None
            if message is None:
                await wake.wait()
                continue
            if message.qos:
                window.append((message, loop.create_task(_told(publish, message, wake))))
            else:
                lost = loop.create_future()
                window.append((message, lost))
                await publish(message)
                window.remove((message, lost))
                sent()
    finally:
        for _, under_way in window:
            under_way.cancel()
        results = await asyncio.gather(*(f for _, f in window), return_exceptions=True)
        outbox.put_back(m for (m, _), result in zip(window, results, strict=True) if result is not None)


async def _told(publish: Callable[[Outgoing], Awaitable[None]], message: Outgoing, wake: asyncio.Event) -> None:
    try:
        await publish(message)
    finally:
        wake.set()

"""A daemon's box of requests with a clock of its own."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from fieldkit.errors import Refusal
from fieldkit.inbox import Inbox, Named
from fieldkit.outbox import Properties
from fieldkit.topics import Daemon

R = TypeVar("R", bound=Named)
NOW_S = 1_800_000_000.0


def an_inbox(
    make: Callable[..., R],
    daemon: Daemon = Daemon.VALVEY,
    node: str = "r01",
    *,
    safer: Iterable[str] = (),
    refuse: Callable[[str, Refusal, Properties], None] = lambda *_: None,
    synced: bool = True,
) -> Inbox[R]:
    return Inbox(
        "demo", node, daemon, make=make, safer=safer, refuse=refuse, wall_s=lambda: NOW_S, synced=lambda: synced
    )  # fmt: skip

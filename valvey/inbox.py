"""The box of a rack's requests: which of them make things safer is said by Valvey's table."""

from collections.abc import Callable

from fieldkit.errors import Refusal
from fieldkit.inbox import Inbox
from fieldkit.outbox import Properties
from fieldkit.request import Kind
from fieldkit.topics import Daemon
from valvey.core.requests import REQUESTS, Request

SAFER = tuple(row.name for row in REQUESTS.values() if row.kind is Kind.SAFER)


def rack_inbox(
    site: str,
    rack: str,
    *,
    refuse: Callable[[str, Refusal, Properties], None],
    wall_s: Callable[[], float],
    synced: Callable[[], bool],
) -> Inbox[Request]:
    """Return the box of one rack's guard."""
    return Inbox(
        site, rack, Daemon.VALVEY, make=Request, safer=SAFER, refuse=refuse, wall_s=wall_s, synced=synced
    )  # fmt: skip

"""What Racky asks of the rack's Valvey, in the role ``racky``, by contract 1. It never asks for a valve to move."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Ask:
    """One request. What comes back of it is an ``AskTold`` with the same key.

    key         name of the wish; asked twice while the first is not answered, it is sent once
    expect_seq  Valvey's ``state_seq`` that it was decided on; None for a request that needs none
    """

    key: str
    request: str
    why: str
    args: Mapping[str, Any] = field(default_factory=dict)
    expect_seq: int | None = None

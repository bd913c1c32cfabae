"""One completed scan, as it is handed to whoever remembers and tells."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from fieldkit.reading import Reading
from valvey.core.gate import Admission
from valvey.core.leasing import Answer
from valvey.core.memory import Memory
from valvey.core.requests import Request
from valvey.core.step import Scan


@dataclass(frozen=True, slots=True)
class Done:
    """What one scan saw, decided and handed to the writer.

    before    the memory that went into ``step``; ``scan.memory`` came out
    readings  as ``step`` saw them
    writes    what the gate let pass, by output tag
    stopped   what it did not let pass as demanded, with its answer
    answers   of the loop's coordinator, as ``step`` heard them
    """

    number: int
    now_s: float
    before: Memory
    readings: Mapping[str, Reading]
    scan: Scan
    requests: tuple[Request, ...]
    writes: Mapping[str, float]
    stopped: Mapping[str, Admission]
    answers: tuple[Answer, ...] = ()


class Listener(Protocol):
    """Told of each completed scan, in the order given to the guard. Must not block and must not raise."""

    def __call__(self, done: Done, /) -> None: ...

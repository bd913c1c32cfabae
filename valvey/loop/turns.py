"""One completed step of the coordinator, as it is handed to whoever records and tells."""

from dataclasses import dataclass

from valvey.core.loop.memory import LoopMemory
from valvey.core.loop.step import LoopInputs, LoopScan


@dataclass(frozen=True, slots=True)
class Turn:
    """What one step saw, decided and wrote.

    before        the memory that went into ``step``; ``scan.memory`` came out
    inputs        as ``step`` saw them, not changed afterwards
    acknowledged  all that was written was taken (echo and read-back)
    """

    now_s: float
    before: LoopMemory
    inputs: LoopInputs
    scan: LoopScan
    acknowledged: bool

"""A memory that has been on the disk: what a daemon that starts anew finds of it."""

from typing import TypeVar

from fieldkit.kept import pack, unpack
from racky.core import persist as racky_persist
from racky.core.memory import Memory as RackyMemory
from valvey.core import persist
from valvey.core.loop import persist as loop_persist
from valvey.core.loop.memory import LoopMemory
from valvey.core.memory import Memory

M = TypeVar("M", Memory, LoopMemory, RackyMemory)


def reread(memory: M) -> M:
    """Return ``memory`` as its daemon keeps it and reads it back."""
    if isinstance(memory, Memory):
        read, _ = unpack(pack(persist.to_dict(memory), 0), persist.from_dict)
        return persist.with_answers(read, [persist.dump_answered(memory.answered)])  # these are kept apart
    if isinstance(memory, LoopMemory):
        return unpack(pack(loop_persist.to_dict(memory), 0), loop_persist.from_dict)[0]
    return unpack(pack(racky_persist.to_dict(memory), 0), racky_persist.from_dict)[0]

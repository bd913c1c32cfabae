"""Where a sign-off is kept, and what the rack's memory has to say before anybody moves its valves."""

import asyncio
import os
from dataclasses import replace
from pathlib import Path

from fieldkit.kept import Left, pack
from fieldkit.store import Store
from valvey.commissioning.signoff import SignOff, dump, load
from valvey.config_rack import RackConfig
from valvey.core import persist
from valvey.core.chart import State
from valvey.core.memory import Inventory, Memory
from valvey.keeper import MEMORY, find
from valvey.paths import Paths

SHUT = frozenset({State.ISOLATED, State.DRAINED})
WRITE_S = 5.0


def keep(record: SignOff, path: Path) -> None:
    """Write the whole record or nothing of it. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.new")
    with fresh.open("wb") as file:
        file.write(dump(record))
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def find_record(path: Path) -> SignOff | None:
    """Return the record of an earlier run, None when there is none. Raises ValueError or OSError."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    return load(data)


def set_aside(path: Path) -> Path:
    """Keep a void record under another name, for whoever asks what was shown then."""
    number = 1
    while (kept := path.with_name(f"{path.stem}.void-{number}{path.suffix}")).exists():
        number += 1
    return path.rename(kept)


def in_the_way(config: RackConfig) -> list[str]:
    """What the rack's memory says against commissioning it; nothing where it has none yet."""
    left = _memory(config)
    memory = left.memory
    if not left.readable:
        return [f"its memory cannot be read ({left.trouble}): start the daemon once, and clear what it then tells"]
    if memory is None:
        return []
    out = []
    if memory.armed:
        out.append("it is armed: `valvey request disarm` first, as engineer; that needs ISOLATED or DRAINED")
    if (memory.was if memory.state is State.STARTUP else memory.state) not in SHUT:
        out.append(f"it stands in {memory.state}: only a rack in ISOLATED or DRAINED is commissioned")
    out += [f"it is locked by {lock.owner}: {lock.why}" for lock in memory.locks]
    out += [f"{latch.sif} is latched: a person resets it, by name and with a reason" for latch in memory.latches]
    return out


def forget_contents(config: RackConfig) -> bool:
    """Before drain or vent are opened: nobody knows any more how much coolant the rack holds, nor that it is tight.

    True when the memory said otherwise until now. Raises OSError when it cannot be written.
    """
    left = _memory(config)
    memory = left.memory
    if memory is None or (memory.inventory is Inventory.UNKNOWN and not memory.tested):
        return False
    forgot = replace(memory, inventory=Inventory.UNKNOWN, tested=False)
    asyncio.run(_save(Paths.of(config).memory, pack(persist.to_dict(forgot), left.event_seq)))
    return True


async def _save(path: Path, record: bytes) -> None:
    troubles: list[str] = []
    store = Store(path, lambda trouble: troubles.append(trouble or ""))
    store.open()
    try:
        ticket = store.save_nowait(MEMORY, record)
        if not await store.saved(ticket, WRITE_S):
            raise OSError(f"the rack's memory cannot be written: {'; '.join(troubles) or 'the disk does not answer'}")
    finally:
        store.close()


def _memory(config: RackConfig) -> Left[Memory]:
    path = Paths.of(config).memory
    if not path.exists():
        return Left(None)
    return find(Store(path, lambda _trouble: None))  # not opened: that would put aside what it cannot read

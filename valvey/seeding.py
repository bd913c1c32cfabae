"""The record of a commissioned rack, for simulated ones: what a site has after its first day, without that day.

A real rack is commissioned by requests (fill, test, commission, arm), each of them judged against the field.
"""

import asyncio
import getpass
import json

from fieldkit.kept import pack
from fieldkit.service import AlreadyRunningError, InstanceLock
from fieldkit.store import Found, Store
from fieldkit.wallclock import BootClock
from valvey.config_rack import RackConfig
from valvey.core import persist
from valvey.core.chart import FIRST_STEP, State
from valvey.core.memory import Inventory, Memory
from valvey.keeper import MEMORY
from valvey.paths import Paths

STATES = (State.FLOWING, State.ISOLATED)
LOG = "commissioning"
"""Log of the store that says who wrote a record and why."""
WRITE_S = 5.0


class RefusedError(ValueError):
    """A record that must not be written; says why and what would allow it."""


def record(config: RackConfig, state: str, why: str) -> str:
    """Write the record and return what was done, for people. Raises RefusedError and nothing is written."""
    paths = Paths.of(config)
    if not config.data.simulated:
        raise RefusedError(
            f"{config.file}: is not `simulated: true`. A real rack's memory is made by its own requests "
            "(fill, test, commission, arm), never written by hand"
        )
    if state not in STATES:
        raise RefusedError(f"--state {state}: allowed {' or '.join(STATES)}")
    if not why.strip():
        raise RefusedError("--why is empty: the record needs a reason")
    try:
        with InstanceLock(paths.lock):
            asyncio.run(_write(config, State(state), why.strip(), paths))
    except AlreadyRunningError as error:
        raise RefusedError(str(error)) from None
    armed = "armed" if config.data.armed else "not armed, as its file says"
    return f"SIMULATED {config.data.rack}: recorded as {state}, full, tested, {armed}: {why.strip()}"


async def _write(config: RackConfig, state: State, why: str, paths: Paths) -> None:
    troubles: list[str] = []
    store = Store(paths.memory, lambda trouble: troubles.append(trouble or ""))
    store.open()
    try:
        found = store.load(MEMORY)
        if found.found is not Found.ABSENT:
            raise RefusedError(
                f"{paths.memory}: holds a memory already ({found.found}); it may have locks and latches. "
                "For a fresh simulated rack use another memory directory, or remove this one"
            )
        clock = BootClock(speed=config.data.speed or 1.0, simulated=True)
        now_s = clock.now_s()
        memory = Memory(
            boot_id=clock.boot_id(),
            state=state,
            step=FIRST_STEP[state],
            since_s=now_s,
            step_since_s=now_s,
            now_s=now_s,
            armed=config.data.armed,
            armed_since_s=now_s,
            inventory=Inventory.FULL,
            tested=True,
        )
        note = {"at": clock.utc().isoformat(), "state": state, "by": getpass.getuser(), "why": why, "simulated": True}
        store.append_nowait(LOG, json.dumps(note).encode())
        ticket = store.save_nowait(MEMORY, pack(persist.to_dict(memory), 0))
        if not await store.saved(ticket, WRITE_S):
            raise RefusedError(
                f"{paths.memory}: cannot be written: {'; '.join(troubles) or 'the disk does not answer'}"
            )
    finally:
        store.close()

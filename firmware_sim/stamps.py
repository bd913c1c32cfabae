"""What happened in the simulator, and exactly when: the ground truth for every latency that is claimed.

Both ends of a latency are stamped here with CLOCK_MONOTONIC: the register that changed, and the write that arrived.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum

_KEEP_CHANGES = 20_000
_KEEP_WRITES = 20_000


class StampKind(StrEnum):
    """Why a stamp was made.

    register  a register that a controller can read changed (``what`` is the tag or the bit's name)
    command   an accepted write changed a command (``what`` is e.g. ``XV-101 command``)
    write     an accepted write arrived, changed or not (``what`` is the address, ``values`` its data)
    fault     a fault began (value 1) or ended (value 0)
    """

    REGISTER = "register"
    COMMAND = "command"
    WRITE = "write"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class Stamp:
    """One event; ``mono_ns`` is CLOCK_MONOTONIC (simulated nanoseconds when time is stepped)."""

    seq: int
    mono_ns: int
    sim_s: float
    kind: StampKind
    rack: str
    device: str
    what: str
    value: float
    values: tuple[int, ...] = ()

    def document(self) -> dict[str, object]:
        return asdict(self)


class Stamps:
    """Two bounded logs with one count: changes, and the much more frequent writes."""

    def __init__(self, clock_ns: Callable[[], int]) -> None:
        self.clock_ns = clock_ns
        self._seq = 0
        self._changes: deque[Stamp] = deque(maxlen=_KEEP_CHANGES)
        self._writes: deque[Stamp] = deque(maxlen=_KEEP_WRITES)

    @property
    def last_seq(self) -> int:
        return self._seq

    def add(
        self,
        kind: StampKind,
        rack: str,
        device: str,
        what: str,
        value: float,
        sim_s: float,
        mono_ns: int | None = None,
        values: tuple[int, ...] = (),
    ) -> None:
        self._seq += 1
        at_ns = self.clock_ns() if mono_ns is None else mono_ns
        log = self._writes if kind is StampKind.WRITE else self._changes
        log.append(Stamp(self._seq, at_ns, round(sim_s, 4), kind, rack, device, what, value, values))

    def find(
        self,
        *,
        since: int = 0,
        rack: str | None = None,
        kinds: Iterable[StampKind] = (StampKind.REGISTER, StampKind.COMMAND, StampKind.FAULT),
        what: str | None = None,
        limit: int = 2000,
    ) -> list[Stamp]:
        """Stamps after ``since``, oldest first, at most ``limit`` of the newest."""
        wanted = frozenset(kinds)
        logs = [self._changes] if StampKind.WRITE not in wanted else [self._changes, self._writes]
        found = [
            stamp
            for log in logs
            for stamp in log
            if stamp.seq > since
            and stamp.kind in wanted
            and (rack is None or stamp.rack == rack)
            and (what is None or stamp.what == what)
        ]
        found.sort(key=lambda stamp: stamp.seq)
        return found[-limit:]

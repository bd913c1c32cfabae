"""Leaks at random phase, and how long until something is written: both ends stamped by the simulator, hold subtracted.

In each round a fresh rig of racks in service gets two demands a rack: the first after the start turns the power off
(permit), the second shuts the valves. Cases differ in what is broken meanwhile.
"""

import random
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import yaml

from bench import disks
from bench.probe import Probe, Sample, worst
from bench.rig import RackPlan, Rig, freeze, thaw

FAST_SCAN_S = 0.02
LIMIT_MS = 2 * FAST_SCAN_S * 1000.0 + 5.0
"""p99: one scan until the bit is seen, one until the hold is over (it ends between two scans), 5 ms for the rest."""
HOLD_S = 0.2
"""Of both rules; so short that the short holds after an adoption change nothing."""
SETTLE_S, SPREAD_S, APART_S = 0.3, 1.0, (0.35, 0.85)
POLICY = {
    "policy": "latency",
    "rules": [
        {"name": "dark", "detectors": ["LDT-101"], "action": "dark", "persist_s": HOLD_S},
        {"name": "isolate", "detectors": ["LDT-102"], "action": "isolate", "persist_s": HOLD_S},
        {"name": "floor", "detectors": ["LDT-103"], "action": "isolate", "persist_s": 60.0},
    ],
}
#: Detector → what its rule writes first that can be told from a refresh.
DETECTORS = {"LDT-101": "XS-101 command", "LDT-102": "XV-101 command"}
SILENT = ("transmitters", "busbar_meter", "feeder_meter", "cdu")
"""Every device but the one that sees the leak and the one that is written to."""


@dataclass(frozen=True, slots=True)
class Demand:
    """One demand.

    first    whether it was the first after the start of its Valvey
    machine  what the probe saw on this machine while it was seen and while it was written
    """

    case: str
    rack: str
    write: str
    first: bool
    latency_ms: float
    machine: Sample

    @property
    def beyond_machine_ms(self) -> float:
        """The latency without what the machine and the simulator's wire held up by themselves."""
        return self.latency_ms - self.machine.overslept_ms - self.machine.answered_ms

    def cause(self) -> str:
        """Why it took as long as it did, for people."""
        seen = f"a 5 ms sleep beside it ended {self.machine.overslept_ms:.1f} ms late, the simulator answered in {self.machine.answered_ms:.1f} ms"
        if self.latency_ms <= LIMIT_MS:
            return f"phase: just missed by one scan, and the hold ended just after another ({seen})"
        if self.beyond_machine_ms <= LIMIT_MS:
            return f"the machine: {seen}"
        return f"not the machine: {seen}"


Disturb = Callable[[Rig], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True)
class Case:
    """What is broken while the demands come; ``own_disk`` puts the memories and journals on a disk of their own."""

    name: str
    disturb: Disturb = lambda _rig: nullcontext()
    own_disk: bool = False


@contextmanager
def silent(rig: Rig, devices: Sequence[str]) -> Generator[None, None, None]:
    """Let one device a rack (in turn) answer nothing any more; ``cdu`` is one for all."""
    for number, rack in enumerate(rig.racks):
        device = devices[number % len(devices)]
        where = {} if device == "cdu" else {"rack": rack}
        rig.ask("fault_add", kind="no_reply", device=device, **where)
        if device == "cdu":
            break
    yield


@contextmanager
def hung(pid: int) -> Generator[None, None, None]:
    """Let a process hang: its connections stand, and nothing comes over them."""
    freeze(pid)
    try:
        yield
    finally:
        thaw(pid)


def round_of(
    case: Case,
    folder: Path,
    racks: int,
    chance: random.Random,
    *,
    broker: tuple[str, int] | None,
    also: Callable[[Rig], None] = lambda _rig: None,
) -> list[Demand]:
    """Two demands on each of ``racks`` fresh racks in service. Raises RigError when a write does not come at all.

    also  looked at after the demands, while what is broken still is
    """
    policy = folder / "policy.yaml"
    folder.mkdir(parents=True, exist_ok=True)
    policy.write_text(yaml.safe_dump(POLICY))
    plans = [RackPlan(f"r{number:02d}", changes={"policy": str(policy)}) for number in range(1, racks + 1)]
    with ExitStack() as stack:
        disk = stack.enter_context(disks.loop_disk(folder)) if case.own_disk else None
        rig = stack.enter_context(Rig(folder, plans, broker=broker, state=disk))
        panel = rig.ask("ports")["racks"][plans[-1].name]["leak_panel"]
        probe = stack.enter_context(Probe(folder / "probe.txt", panel))
        since = rig.mark()
        rig.start()
        rig.await_adopted(since)
        stack.enter_context(case.disturb(rig))
        time.sleep(SETTLE_S)
        since = rig.mark()
        _spring(rig, chance)
        leaks, writes = {}, {}
        for plan in plans:
            for detector, write in DETECTORS.items():
                leaks[plan.name, detector] = rig.await_stamp(since, plan.name, detector, 1.0)
                writes[plan.name, detector] = rig.await_stamp(since, plan.name, write, 0.0)
        samples = probe.samples()
        also(rig)
    return [
        _demand(case.name, rack, detector, leak["mono_ns"], writes[rack, detector]["mono_ns"], samples)
        for (rack, detector), leak in leaks.items()
    ]


def _spring(rig: Rig, chance: random.Random) -> None:
    """Wet both detectors of every rack, each at a moment of its own."""
    begun_s, due = time.monotonic(), list[tuple[float, str, str]]()
    for rack in rig.racks:
        at_s = chance.uniform(0.0, SPREAD_S)
        due.append((at_s, rack, "LDT-101"))
        due.append((at_s + HOLD_S + chance.uniform(*APART_S), rack, "LDT-102"))
    for at_s, rack, detector in sorted(due):
        time.sleep(max(0.0, begun_s + at_s - time.monotonic()))
        rig.ask("fault_add", kind="wet", rack=rack, tag=detector, value=1)


def _demand(case: str, rack: str, detector: str, leak_ns: int, write_ns: int, samples: list[Sample]) -> Demand:
    hold_ns = int(HOLD_S * 1e9)
    seen = worst(samples, leak_ns, leak_ns + 25_000_000)
    acted = worst(samples, leak_ns + hold_ns, write_ns)
    machine = Sample(
        leak_ns, max(seen.overslept_ms, acted.overslept_ms), max(seen.answered_ms, acted.answered_ms)
    )  # fmt: skip
    latency_ms = (write_ns - leak_ns - hold_ns) / 1e6
    return Demand(case, rack, DETECTORS[detector], detector == "LDT-101", latency_ms, machine)


def cases(broker_pid: int, folder: Path) -> list[Case]:
    """All cases that this machine can make."""
    out = [
        Case("quiet"),
        *(Case(f"silent {one}", partial(silent, devices=(one,))) for one in SILENT),
        Case("broker hung", lambda _rig: hung(broker_pid)),
    ]
    if disks.can_be_mounted(folder):
        out.append(Case("disk stalled", lambda rig: disks.stalled(rig.state), own_disk=True))
    return out

"""One simulated rack with everything around it, stepped and without a socket: what Racky hears is what the others tell.

Plant, devices and faults are the simulator's; the rack is guarded by Valvey's own core, devices and gate, its loop by
the coordinator's. They tell in the payloads of contract 1, written and read again as on the bus. A wire's faults become
what the link makes of them.
"""

import tempfile
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import yaml

from fieldkit import envelope, profile_file, topics
from fieldkit import letters as common
from fieldkit.alarm import AlarmState, Phase
from fieldkit.bus import LinkCounters, LinkError
from fieldkit.device import Device
from fieldkit.envelope_parts import Part
from fieldkit.errors import Refusal
from fieldkit.letters import Sender
from fieldkit.profile import Profile
from fieldkit.reading import Quality, Reading, Reason
from fieldkit.request import Kind
from fieldkit.units import Unit
from firmware_sim.bank import Bank
from firmware_sim.bench_config import demo_bench
from firmware_sim.plant_config import Start
from firmware_sim.wire import Endpoint
from firmware_sim.wire_faults import WireFault
from racky.core import hearing
from racky.core.causes import NOT_JUDGED
from racky.core.memory import Memory as RackyMemory
from racky.core.setup import Battery, Shelf
from racky.core.setup import Setup as RackySetup
from racky.core.sight import DaemonTold, Sight
from racky.core.step import step as racky_step
from valvey import config as rack_file
from valvey import letters
from valvey.config_rack import RackConfig, to_limits
from valvey.core import gate
from valvey.core.adoption import begin
from valvey.core.chart import FIRST_STEP, State
from valvey.core.leasing import Answer
from valvey.core.loop.leases import begin as loop_begin
from valvey.core.loop.memory import LoopMemory
from valvey.core.loop.seen import RackSeen
from valvey.core.loop.step import LoopInputs
from valvey.core.loop.step import step as loop_step
from valvey.core.memory import Inventory, Memory
from valvey.core.requests import REQUESTS, Request
from valvey.core.step import setup, step
from valvey.derived import derived
from valvey.loop import config as loop_file
from valvey.loop import sender as loop_letters
from valvey.loop.config import LoopConfig
from valvey.loop.config import to_limits as loop_limits
from valvey.scan import evidence_of

ROOT = Path(__file__).resolve().parents[2]
RACK, SITE, LOOP = "r01", "demo", "cdu1"
START_S = 1000.0
WALL_S = 1.8e9
"""Valvey's wall clock at our time 0: its times are of no use without its own stamps."""
SCAN_S = 0.1
SHELVES = tuple(Shelf(number, 40.0) for number in (111, 112, 113, 114))
BATTERIES = (Battery(121),)
PSU_POINTS = {"JT": "power", "TT": "inlet", "ST": "fan", "XA": "fault", "SA": "fan_fault", "EA": "ac_fault"}
OWN: dict[str, tuple[str, dict[str, str]]] = {
    **{
        f"power_shelf_{shelf.number - 110}": (
            "racky_power-shelf",
            {
                shelf.feedback: "output_on", shelf.power: "power",
                **{shelf.psu(letters, psu): f"psu_{psu.lower()}_{point}" for psu in shelf.psus for letters, point in PSU_POINTS.items()},
            },
        )
        for shelf in SHELVES
    },
    "battery_shelf_1": ("racky_battery-shelf", {"XI-121": "output_on", "QT-121": "charge", "XB-121": "feeding"}),
    "room": ("racky_room", {"TT-110": "tt_110", "MT-110": "mt_110", "ZS-110": "zs_110"}),
}  # fmt: skip
"""Racky's own devices: profile, and tag -> point."""
SETUP = RackySetup(
    RACK, rating_kw=132.0, budget_kw=140.0, flow_nominal_lpm=197.0, armed=True, shed=(114, 113, 112),
    shelves=SHELVES, batteries=BATTERIES, link_of={tag: name for name, (_, tags) in OWN.items() for tag in tags},
)  # fmt: skip
OUTPUT_OF = {output.command: SETUP.link_of[output.feedback] for output in SETUP.outputs}
SILENT = {WireFault.NO_REPLY, WireFault.HALF_OPEN, WireFault.HALF_FRAME, WireFault.LATE_REPLY}
STRANGE = {WireFault.GARBAGE, WireFault.WRONG_TRANSACTION, WireFault.WRONG_UNIT, WireFault.WRONG_FUNCTION}
READS = {"coil": 1, "discrete": 2, "holding": 3, "input": 4}


class DirectBus:
    """One device without a wire: its requests reach the simulated device at once, its link's faults are kept."""

    def __init__(self, endpoint: Endpoint, *, second: bool = False) -> None:
        self.name, self.counters = endpoint.name, LinkCounters()
        self._endpoint, self._second = endpoint, second

    async def read(self, unit: int, table: str, address: int, count: int) -> bytes:
        pdu = bytes((READS[table],)) + address.to_bytes(2, "big") + count.to_bytes(2, "big")
        reply = self._ask(unit, pdu)
        if WireFault.SHORT_REPLY in self._endpoint.faults:
            raise LinkError(Reason.SHORT_REPLY, "a register is missing")
        return reply[2:]

    async def write(self, unit: int, table: str, address: int, words: Sequence[int], *, multiple: bool = False) -> None:
        assert table == "holding"
        data = b"".join(word.to_bytes(2, "big") for word in words)
        head = bytes((16,)) + address.to_bytes(2, "big") + len(words).to_bytes(2, "big")
        self._ask(unit, head + bytes((len(data),)) + data)
        if WireFault.WRONG_ECHO in self._endpoint.faults:
            raise LinkError(Reason.ECHO, "another value came back")

    async def close(self) -> None:
        pass

    def _ask(self, unit: int, pdu: bytes) -> bytes:
        endpoint = self._endpoint
        faults = set(endpoint.faults)
        if self._second and WireFault.ONE_CLIENT in faults:
            raise LinkError(Reason.LINK_DOWN, "turned away")
        if not endpoint.powered or faults & SILENT:
            raise LinkError(Reason.TIMEOUT, "no answer")
        reply = endpoint.serve(pdu, unit, 0)
        if faults & STRANGE:
            raise LinkError(Reason.WRONG_ID, "an answer to nobody")
        if reply[0] & 0x80:
            raise LinkError(Reason.EXCEPTION, f"exception {reply[1]}", reply[1])
        return reply


T = TypeVar("T")
M = TypeVar("M", bound=Part)


def done(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits."""
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise AssertionError("it waits for something")


def _file(name: str, changes: Mapping[str, Any], folder: Path) -> Path:
    document = yaml.safe_load((ROOT / "configs" / name).read_text(encoding="utf-8"))
    document |= {**changes, "site": SITE, "profiles_dir": str(ROOT / "configs" / "profiles")}
    if "policy" in document and isinstance(document["policy"], str):
        document["policy"] = str(ROOT / "configs" / document["policy"])
    path = folder / name
    path.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return path


@cache
def _profile(name: str) -> Profile:
    return profile_file.load(ROOT / "configs" / "profiles" / f"{name}.yaml")


@cache
def _configs() -> tuple[RackConfig, LoopConfig]:
    with tempfile.TemporaryDirectory() as folder:
        both = {"simulated": True, "armed": True}
        rack = rack_file.load(_file("rack.yaml", {**both, "loop": LOOP}, Path(folder)))
        return rack, loop_file.load(_file("loop.yaml", both, Path(folder)))


@dataclass
class BenchClock:
    """The bench's time, as the devices ask for it."""

    at_s: float = START_S

    def now_s(self) -> float:
        return self.at_s

    def boot_s(self) -> float:
        return self.at_s

    def boot_id(self) -> str:
        return "bench"

    def utc(self) -> datetime:
        return datetime.fromtimestamp(WALL_S + self.at_s, UTC)

    async def sleep_until(self, due_s: float) -> None:
        raise AssertionError(f"somebody waits for {due_s}")


class HealthBench:
    """A commissioned rack in service beside others, and whoever tells of it.

    valvey_dead, loop_dead   killed: nothing new is told; a last will says so
    hung       lives and tells nothing
    lost       no message of Valvey's gets through, and no last will either
    """

    def __init__(self, racks: int = 2, start: Start = Start.FLOWING) -> None:
        self.bank = Bank(demo_bench(racks, power=True, attended_s=1e9))
        if start is not Start.FLOWING:
            settings = tuple(replace(one, start=start) if one.name == RACK else one for one in self.bank.config.racks)
            self.bank = Bank(replace(self.bank.config, racks=settings))
        self.clock = BenchClock()
        self.config, self.loop_config = _configs()
        self.limits, self.loop_limits = to_limits(self.config), loop_limits(self.loop_config)
        self.loop_limits = replace(
            self.loop_limits,
            racks={name: row for name, row in self.loop_limits.racks.items() if name in self.bank.rigs},
        )
        self.rack = setup(self.limits)
        self.readings: dict[str, Reading] = {}
        self.devices = {name: self._device(name) for name in self.config.data.buses}
        self.cdu_readings: dict[str, Reading] = {}
        points = {tag: (point, "fast") for tag, point in self.loop_config.tags.items()}
        bus = DirectBus(self.bank.endpoints["cdu"])
        self.cdu = Device("cdu", 1, self.loop_config.profile, bus, points, self.cdu_readings, self.clock)
        state = State.FLOWING if start is Start.FLOWING else State.ISOLATED
        record = Memory(
            boot_id="bench", state=state, step=FIRST_STEP[state], was=state, armed=True, inventory=Inventory.FULL,
            tested=True, now_s=START_S, since_s=START_S, step_since_s=START_S, armed_since_s=START_S,
        )  # fmt: skip
        self.memory = begin(
            record, readable=True, armed_in_file=True, starts_s=(), boot_id="bench", now_s=START_S, limits=self.limits
        )
        self.loop = loop_begin(LoopMemory(), START_S - 60.0)
        self.neighbours: dict[str, RackSeen] = {}
        self.answers: tuple[Answer, ...] = ()
        self.requests: list[Request] = []
        self.ack_s: float | None = None
        self.racky_dead = self.valvey_dead = self.loop_dead = self.hung = self.lost = False
        self.told, self.loop_told = DaemonTold(), DaemonTold()
        self.racky, self.health = RackyMemory(), NOT_JUDGED
        self.unread: set[str] = set()
        """Devices of Racky's own that it does not get round to reading."""
        self.own: dict[str, Reading] = {}
        self.own_devices = {name: self._own_device(name) for name in OWN}
        self._wrote_s, self._looped_s, self._slow_s, self._told_s, self._looked_s = 0.0, 0.0, 0.0, 0.0, 0.0
        self._wrote: dict[str, float] = {}
        self._said: dict[str, object] = {}
        self._ids = self._seq = 0
        self.sender = self._sender(topics.Daemon.VALVEY, RACK)
        self.loop_sender = self._sender(topics.Daemon.LOOP, LOOP)

    @property
    def now_s(self) -> float:
        return self.clock.at_s

    def _sender(self, daemon: topics.Daemon, node: str) -> Sender:
        return Sender(
            site=SITE, node=node, daemon=daemon, simulated=True, version="0", boot_id="bench", config_digest="0", since_wall_s=WALL_S,
            wall_of=_wall, synced=_synced,
        )  # fmt: skip

    def _device(self, name: str) -> Device:
        config = self.config
        endpoint = self.bank.endpoints["cdu" if name == "cdu" else f"{RACK}/{name}"]
        own = config.data.buses[name].write_connection == "own"
        return Device(
            name, config.data.buses[name].unit, config.profiles[name], DirectBus(endpoint), config.read_from(name), self.readings,
            self.clock, write_bus=DirectBus(endpoint, second=own), norms=config.norms_of(name),
        )  # fmt: skip

    # -- time -----------------------------------------------------------------------------------------------------

    def run(self, for_s: float) -> "HealthBench":
        for _ in range(round(for_s / SCAN_S)):
            self.scan()
        return self

    def scan(self) -> None:
        """A tenth of a second of everything."""
        self.bank.advance(SCAN_S)
        self.clock.at_s = round(self.clock.at_s + SCAN_S, 6)
        if not (self.valvey_dead or self.hung):
            self._guard()
        if self.now_s - self._looped_s >= 0.2 - 1e-6 and not self.loop_dead:
            self._looped_s = self.now_s
            self._coordinate()
        if self.now_s - self._told_s >= 1.0 - 1e-6:
            self._told_s = self.now_s
            self._tell()
        if self.now_s - self._looked_s >= 0.5 - 1e-6 and not self.racky_dead:
            self._looked_s = self.now_s
            self._look()

    def _guard(self) -> None:
        now_s = self.now_s
        slow = now_s - self._slow_s >= 60.0
        self._slow_s = now_s if slow else self._slow_s
        for device in self.devices.values():
            for lane in device.lanes:
                if lane != "slow" or slow:
                    done(device.poll(lane))
        requests, self.requests = tuple(self.requests), []
        answers, self.answers = self.answers, ()
        seen = dict(self.readings)
        scan = step(self.memory, seen, requests, self.rack, now_s, answers)
        self.memory = scan.memory
        evidence = evidence_of(seen, scan.memory, self.ack_s, now_s)
        writes, _ = gate.pass_through(scan.outputs, scan.memory.state, evidence)
        if writes and (writes != self._wrote or now_s - self._wrote_s >= 0.25):
            self._wrote, self._wrote_s = writes, now_s
            self._write(writes)

    def _write(self, writes: Mapping[str, float]) -> None:
        device = self.devices["valve_controller"]
        points = {tag: self.config.outputs[tag].point for tag in writes}
        permit = {points[tag]: value for tag, value in writes.items() if tag == "XS-101"}
        valves = {points[tag]: value for tag, value in writes.items() if tag.startswith(("XV", "FCV"))}
        for block in (permit, valves, permit) if permit and not writes["XS-101"] else (valves, permit):
            try:
                at_s = done(device.write(block)) if block else 0.0
            except LinkError:
                self._wrote = {}
                continue
            if block is valves and block:
                self.ack_s = at_s
                self.readings["WRITE-ACK"] = Reading("WRITE-ACK", at_s, Unit.SECOND, Quality.GOOD, at_s)

    def _coordinate(self) -> None:
        done(self.cdu.poll("fast"))
        racks = {RACK: self._seen(), **{name: self._beside(name) for name in self.bank.rigs if name != RACK}}
        now = loop_step(self.loop, LoopInputs(dict(self.cdu_readings), racks), LOOP, self.loop_limits, self.now_s)
        self.loop = now.memory
        for point, value in now.writes.items():
            done(self.cdu.write({self.loop_config.point_of[point]: value}))

    def _seen(self) -> RackSeen:
        memory = self.memory
        points = {
            tag: one.value
            for tag, one in self.readings.items()
            if one.quality is Quality.GOOD and one.value is not None
        }
        latches = tuple(latch.sif for latch in memory.latches)
        heard_s = self.told.heard_s
        at_s = float("-inf") if heard_s is None else heard_s
        return RackSeen(memory.state, memory.isolate_wanted, memory.emergency, latches, (), True, points, at_s)

    def _beside(self, name: str) -> RackSeen:
        rack = self.bank.plant.racks[name]
        points = {
            "FT-101": rack.flow_supply_lpm, "FT-102": rack.flow_return_lpm, "ZT-101": 100.0 * rack.fcv.position,
            "PT-101": rack.p_supply_kpa, "PT-102": rack.p_return_kpa, "JT-101": rack.feeder_kw, "ET-101": rack.busbar_kw,
            **{tag: float(wet) for tag, wet in rack.wet.items()},
        }  # fmt: skip
        return RackSeen(State.FLOWING, online=True, points=points, at_s=self.now_s)

    def ask(self, name: str, /, *, role: str = "engineer", **args: object) -> None:
        """Ask Valvey for something; it is judged in the next scan."""
        self._ids += 1
        seq = None if REQUESTS[name].kind is Kind.SAFER else self.memory.state_seq
        self.requests.append(Request(f"id-{self._ids}", name, role, "desk", args, "anna", "a test", seq))

    # -- Racky -----------------------------------------------------------------------------------------------------

    def _own_device(self, name: str) -> Device:
        profile, tags = OWN[name]
        places = {tag: (point, "fast") for tag, point in tags.items()}
        return Device(
            name, 1, _profile(profile), DirectBus(self.bank.endpoints[f"{RACK}/{name}"]), places, self.own, self.clock
        )

    def _look(self) -> None:
        """One step of Racky, twice a second."""
        for name, device in self.own_devices.items():
            if name not in self.unread:
                done(device.poll("fast"))
        own = {tag: self.own[tag] for tag in SETUP.link_of}
        sight = Sight(self.now_s, self.told, self.loop_told, True, own, dict.fromkeys(own, 2.0))
        scan = racky_step(self.racky, sight, (), SETUP, self.now_s)
        self.racky, self.health = scan.memory, scan.health
        for tag, value in scan.writes.items():
            with suppress(LinkError):
                done(self.own_devices[OUTPUT_OF[tag]].write({"output": value}, read_back=False))

    def does(self, what: str) -> None:
        """Let something become of a daemon, the bus or Racky's own devices."""
        self.valvey_dead |= what == "valvey_killed"
        self.hung |= what == "valvey_hung"
        self.lost |= what == "bus_lost"
        self.loop_dead |= what == "loop_killed"
        self.unread |= {"power_shelf_2"} if what == "shelf_unread" else set()

    @property
    def causes(self) -> list[str]:
        return [cause.id for cause in self.health.causes]

    # -- what is told ---------------------------------------------------------------------------------------------

    def _tell(self) -> None:
        self._seq += 1
        now_s = self.now_s
        if not self.lost:
            self.told = self._valvey_tells(self.told, now_s)
        self.loop_told = self._loop_tells(self.loop_told, now_s)

    def _valvey_tells(self, known: DaemonTold, now_s: float) -> DaemonTold:
        status = "offline" if self.valvey_dead else "online"
        known = hearing.availability(known, _again(common.availability(self.sender, status)))  # type: ignore[arg-type]
        if self.valvey_dead or self.hung:
            return known
        known = hearing.state(known, _again(letters.state(self.sender, self.memory)), now_s, RACK)
        points = {**self.readings, **derived(self.readings, self.memory, self.limits, now_s)}
        known = hearing.telemetry(
            known, _again(letters.telemetry(self.sender, points, self.limits, now_s, self._seq)), now_s
        )
        return self._alarms(known, self.sender, self.memory.alarms)

    def _loop_tells(self, known: DaemonTold, now_s: float) -> DaemonTold:
        status = "offline" if self.loop_dead else "online"
        known = hearing.availability(known, _again(common.availability(self.loop_sender, status)))  # type: ignore[arg-type]
        if self.loop_dead:
            return known
        told = loop_letters.state(self.loop_sender, self.loop, self.loop_limits, START_S, False)
        known = hearing.state(known, _again(told), now_s, RACK)
        values = loop_letters.telemetry(self.loop_sender, self.cdu_readings, self.loop_limits, now_s, self._seq)
        return self._alarms(hearing.telemetry(known, _again(values), now_s), self.loop_sender, self.loop.alarms)

    def _alarms(self, known: DaemonTold, sender: Sender, states: Mapping[str, AlarmState]) -> DaemonTold:
        for name in known.alarms.keys() - states.keys():
            known = hearing.cleared(known, name)
        for state in states.values():
            if state.phase is not Phase.NORMAL:
                known = hearing.alarm(known, _again(common.alarm(sender, state)))
        return known


def _again(message: M) -> M:
    """The message as it is read on the other side of the bus."""
    back = envelope.parse(type(message), envelope.dump(message))
    assert not isinstance(back, Refusal), back
    return back


def _wall(at_s: float) -> float:
    return WALL_S + at_s


def _synced() -> bool:
    return True

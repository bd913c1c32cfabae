"""From a leak to the write that acts on it: real processes, real wires, stamped by the simulator, hold subtracted.

CI measures a sample of each case; the 200 demands of the quiet case and 48 of every other are marked ``long``.
"""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench import disks
from bench.bystander import Bystander
from bench.demands import SILENT, Case, silent
from bench.demo.stage import SITE
from bench.rig import Rig
from tests.wire.broker import Broker, broker, needs_mosquitto
from tests.wire.rig import in_time, needs_own_disk, rounds

pytestmark = [needs_mosquitto, pytest.mark.filterwarnings("default::tests.wire.rig.NoisyMachineWarning")]


@pytest.fixture
def mosquitto(tmp_path: Path) -> Generator[Broker, None, None]:
    with broker(tmp_path) as one:
        yield one


@pytest.mark.timeout(120)
@pytest.mark.parametrize("count", [2, pytest.param(17, marks=[pytest.mark.long, pytest.mark.timeout(600)])])
def test_a_leak_is_acted_on_within_two_fast_scans_the_first_after_a_start_too(
    tmp_path: Path, mosquitto: Broker, count: int
) -> None:
    figures = in_time(rounds(Case("quiet"), tmp_path, mosquitto, count))
    assert len(figures.demands) == 12 * count
    assert len(figures.first.demands) == 6 * count
    print(figures.first.text())
    assert min(one.latency_ms for one in figures.demands) > 0.0, "the hold is never shorter than it says"


@pytest.mark.timeout(120)
@pytest.mark.parametrize("devices", [SILENT[:3], SILENT[3:]], ids=",".join)
def test_a_leak_is_acted_on_in_time_with_any_one_other_device_silent(
    tmp_path: Path, mosquitto: Broker, devices: tuple[str, ...]
) -> None:
    def really_silent(rig: Rig) -> None:
        faults = rig.ask("fault_list")
        assert {fault["device"] for fault in faults if fault["kind"] == "no_reply"} == set(devices)

    case = Case(f"silent {', '.join(devices)}", lambda rig: silent(rig, devices))
    in_time(rounds(case, tmp_path, mosquitto, 1, racks=6 if len(devices) > 1 else 4, also=really_silent))


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("device", SILENT)
def test_48_leaks_are_acted_on_in_time_with_a_silent_device(tmp_path: Path, mosquitto: Broker, device: str) -> None:
    in_time(rounds(Case(f"silent {device}", lambda rig: silent(rig, [device])), tmp_path, mosquitto, 4))


@pytest.mark.timeout(120)
@pytest.mark.parametrize("count", [1, pytest.param(4, marks=[pytest.mark.long, pytest.mark.timeout(300)])])
def test_a_leak_is_acted_on_in_time_with_a_hung_broker(tmp_path: Path, mosquitto: Broker, count: int) -> None:
    @contextmanager
    def hung(_rig: Rig) -> Generator[None, None, None]:
        mosquitto.freeze()
        try:
            yield
        finally:
            mosquitto.thaw()

    in_time(rounds(Case("broker hung", hung), tmp_path, mosquitto, count, racks=racks_for(count)))


@pytest.mark.timeout(120)
@pytest.mark.parametrize("count", [1, pytest.param(4, marks=[pytest.mark.long, pytest.mark.timeout(300)])])
def test_a_leak_is_acted_on_in_time_with_the_disk_stalled_and_the_alarm_says_so(
    tmp_path: Path, mosquitto: Broker, count: int
) -> None:
    needs_own_disk(tmp_path / "try")
    with Bystander("127.0.0.1", mosquitto.port, SITE) as bus:
        case = Case("disk stalled", lambda rig: disks.stalled(rig.state), own_disk=True)
        in_time(rounds(case, tmp_path, mosquitto, count, racks=racks_for(count), also=told_all_the_same(bus)))


@pytest.mark.timeout(120)
@pytest.mark.parametrize("count", [1, pytest.param(4, marks=[pytest.mark.long, pytest.mark.timeout(300)])])
def test_a_leak_is_acted_on_in_time_with_the_disk_full_and_the_alarm_says_so(
    tmp_path: Path, mosquitto: Broker, count: int
) -> None:
    needs_own_disk(tmp_path / "try")

    @contextmanager
    def filled(rig: Rig) -> Generator[None, None, None]:
        with disks.full(rig.state):
            time.sleep(1.5)  # the once-a-second save of the timers finds it out
            yield

    with Bystander("127.0.0.1", mosquitto.port, SITE) as bus:
        case = Case("disk full", filled, own_disk=True)
        in_time(rounds(case, tmp_path, mosquitto, count, racks=racks_for(count), also=told_all_the_same(bus)))


def racks_for(count: int) -> int:
    """Fewer in the single round of CI: starting them takes longer than hurting them."""
    return 4 if count == 1 else 6


def told_all_the_same(bus: Bystander) -> Callable[[Rig], None]:
    """Each round, every rack tells its trips and the fault of its storage within seconds, though nothing can be kept."""
    heard = 0

    def look(rig: Rig) -> None:
        nonlocal heard
        for rack in rig.racks:

            def told(rack: str = rack) -> bool:
                events = bus.events(rack, heard)
                raised = {event["fields"]["alarm"] for event in events if event["fact"] == "alarm"}
                return "storage-fault" in raised and sum(event["fact"] == "trip" for event in events) >= 2

            bus.wait(told, 8.0, f"{rack}: its trips and the storage fault were not told")
        heard = len(bus.heard)

    return look

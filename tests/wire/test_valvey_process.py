"""`valvey run` as a process on a simulated rack over Modbus TCP: adoption, kill, restart, stop."""

import signal
import time
from pathlib import Path

import pytest

from tests.wire.guarded import Guarded, guarded

#: The bound that tells waiting for something (a timeout of 250 ms, a disk, a broker) from a busy test machine.
WAITED_MS = 150.0
pytestmark = pytest.mark.timeout(60)


def test_a_flowing_rack_is_adopted_without_a_move_and_without_a_write_before_the_first_judged_scan(
    tmp_path: Path,
) -> None:
    with guarded(tmp_path) as rack:
        since = rack.last_seq()
        ready_s = rack.start()
        rack.until_state("FLOWING", 3.0)
        rack.until(lambda: len(rack.stamps("write", since=since)) >= 4, 3.0, "writes")
        first = rack.stamps("write", since=since)[0]
        assert first["mono_ns"] / 1e9 > ready_s - 0.005
        assert rack.moves(since) == []
        throttle = rack.stamps("command", since=since, what="FCV-101 command")
        assert all(abs(one["value"] - rack.measured("ZT-101")) < 1.0 for one in throttle), "kept where it was found"


def test_a_rack_without_any_memory_stands_isolated_and_disarmed_and_nothing_is_written(tmp_path: Path) -> None:
    with guarded(tmp_path, commissioned=None) as rack:
        since = rack.last_seq()
        rack.start()
        rack.until(lambda: rack.manager.count("WATCHDOG=1") >= 2, 3.0, "two watchdog feeds")
        assert rack.lines("started")[0]["state"] == "ISOLATED"
        assert rack.stamps("write", since=since) == []


def test_a_leak_isolates_the_rack_in_time_and_in_order(tmp_path: Path) -> None:
    with guarded(tmp_path) as rack:
        rack.start()
        rack.until_state("FLOWING", 3.0)
        since = rack.last_seq()
        rack.bench.fault("wet", tag="LDT-101", value=1)
        took_ms = rack.latency_ms("LDT-101", "XV-101 command", since) - 500.0
        assert took_ms <= WAITED_MS
        commands = [one["what"] for one in rack.stamps("command", since=since)]
        assert commands.index("XS-101 command") < commands.index("XV-101 command"), "the permit falls first"
        rack.until_state("ISOLATED", 12.0)
        commands = [one["what"] for one in rack.stamps("command", since=since)]
        assert commands.index("XV-101 command") < commands.index("XV-102 command"), "supply shuts before return"
        assert rack.lines("trip")[0]["sif"] == "SIF-1"


def test_after_a_kill_and_a_restart_no_valve_moves_and_the_permit_stays(tmp_path: Path) -> None:
    with guarded(tmp_path) as rack:
        rack.start()
        rack.until_state("FLOWING", 3.0)
        since = rack.last_seq()
        rack.kill(signal.SIGKILL)
        killed_s = time.monotonic()
        ready_s = rack.start()
        rack.until(lambda: rack.states().count("FLOWING") == 2, 3.0, "FLOWING again")
        writes = [one for one in rack.stamps("write", since=since) if one["mono_ns"] / 1e9 > killed_s + 0.1]
        assert writes == [] or writes[0]["mono_ns"] / 1e9 > ready_s - 0.005
        rack.until(lambda: bool(rack.stamps("write", since=since)), 2.0, "writes again")
        assert rack.moves(since) == []
        assert rack.lines("trip") == []


def test_a_trip_is_still_latched_after_a_kill_100_ms_later(tmp_path: Path) -> None:
    with guarded(tmp_path) as rack:
        rack.start()
        rack.until_state("FLOWING", 3.0)
        since = rack.last_seq()
        rack.bench.fault("wet", tag="LDT-102", value=1)
        rack.latency_ms("LDT-102", "XV-101 command", since)
        time.sleep(0.1)
        rack.kill(signal.SIGKILL)
        rack.start()
        rack.until(lambda: len(rack.lines("started")) == 2, 3.0, "the second start")
        rack.until(lambda: rack.states()[-1:] == ["ISOLATED"], 12.0, "ISOLATED")
        assert rack.lines("started")[1]["was"] == "ISOLATING"
        assert len([one for one in rack.lines("trip") if one["sif"] == "SIF-1"]) == 1, "latched once, remembered"


def test_the_third_start_in_a_row_leaves_the_rack_dark(tmp_path: Path) -> None:
    with guarded(tmp_path) as rack:
        for number in (1, 2):
            rack.start()
            rack.until(lambda: rack.states().count("FLOWING") == number, 3.0, "FLOWING")  # ruff: ignore[function-uses-loop-variable]
            rack.kill(signal.SIGKILL)
        since = rack.last_seq()
        rack.start()
        rack.until_state("COOLDOWN", 3.0)
        rack.until(lambda: "XS-101 command=0.0" in rack.moves(since), 2.0, "the permit off")
        assert not [move for move in rack.moves(since) if move.startswith(("ZS", "XV"))], "the coolant goes on flowing"


def test_sigterm_leaves_the_rack_as_found_within_five_seconds(tmp_path: Path) -> None:
    with guarded(tmp_path) as rack:
        rack.start()
        rack.until_state("FLOWING", 3.0)
        since = rack.last_seq()
        code, took_s = rack.stop()
        assert (code, took_s < 5.0) == (0, True)
        assert rack.moves(since) == []
        assert rack.lines("stopped")[0]["outputs"] == "as found"


def test_sigterm_ends_a_daemon_whose_devices_are_all_silent(tmp_path: Path) -> None:
    with guarded(tmp_path) as rack:
        rack.start()
        rack.until_state("FLOWING", 3.0)
        for device in ("valve_controller", "transmitters", "leak_panel", "busbar_meter", "feeder_meter"):
            rack.bench.fault("no_reply", device=device)
        time.sleep(0.3)
        code, took_s = rack.stop()
        assert (code, took_s < 5.0) == (0, True)


def test_two_daemons_never_guard_one_rack(tmp_path: Path) -> None:
    with guarded(tmp_path) as rack:
        rack.start()
        second = rack.valvey("run", str(rack.config))
        assert second.returncode == 3
        assert "holds it" in second.stderr


@pytest.mark.parametrize("device", ["transmitters", "feeder_meter", "busbar_meter"])
def test_a_silent_device_does_not_make_a_leak_wait(tmp_path: Path, device: str) -> None:
    with guarded(tmp_path) as rack:
        rack.start()
        rack.until_state("FLOWING", 3.0)
        rack.bench.fault("no_reply", device=device)
        time.sleep(0.4)
        since = rack.last_seq()
        rack.bench.fault("wet", tag="LDT-101", value=1)
        took_ms = rack.latency_ms("LDT-101", "XV-101 command", since) - 500.0
        assert took_ms <= WAITED_MS


def test_a_safe_shutdown_makes_the_rack_dark_first_and_needs_no_broker(tmp_path: Path) -> None:
    with guarded(tmp_path) as rack:
        rack.start()
        rack.until_state("FLOWING", 3.0)
        refused = rack.valvey("shutdown", str(rack.config))
        assert refused.returncode == 2
        assert "--safe" in refused.stderr
        shutting = rack.valvey("shutdown", "--safe", str(rack.config), "--timeout", "1.5")
        assert shutting.returncode == 4, "cooling down takes minutes"
        assert rack.states()[-1] == "COOLDOWN"
        assert [one["request"] for one in rack.lines("answer")] == ["dark", "isolate"]


def _stalled(rack: Guarded) -> bool:
    return any(one.get("alarm") == "storage-fault" for one in rack.lines("alarm"))


def test_a_full_disk_is_an_alarm_and_changes_nothing_of_the_protection(tmp_path: Path) -> None:
    def small_files() -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (90_000, 90_000))

    with guarded(tmp_path) as rack:
        rack.start(preexec=small_files)
        rack.until_state("FLOWING", 3.0)
        rack.until(lambda: _stalled(rack), 15.0, "the storage alarm")
        since = rack.last_seq()
        rack.bench.fault("wet", tag="LDT-101", value=1)
        assert rack.latency_ms("LDT-101", "XV-101 command", since) - 500.0 <= WAITED_MS

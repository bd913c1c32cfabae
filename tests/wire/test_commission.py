"""`valvey commission` as a process on a simulated field over Modbus TCP: a person's part is played by the simulator's faults."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyModbusTCP.client import ModbusClient

from tests.wire.guarded import ROOT, Guarded, bench

SPEED = 6.0
pytestmark = pytest.mark.timeout(90)

#: What the command asks for -> the fault of the simulator that is it; it is ended when the command asks for that.
HANDS = {
    "HS-101: operate it now": ("emergency_stop", None),
    "HS-101: press the emergency stop now": ("emergency_stop", None),
    "HS-102: operate it now": ("key_locked", None),
    "LSH-203: operate it now": ("sump_high", None),
    "US-201: operate it now": ("cdu_trip", None),
    "LDT-101: wet it now": ("wet", "LDT-101"),
    "LDT-102: wet it now": ("wet", "LDT-102"),
    "LDT-103: wet it now": ("wet", "LDT-103"),
}
BACK = ("Put it back now", "Dry it now", "release and reset it now")


class Technician:
    """Runs the command and does with the simulator what it asks for."""

    def __init__(self, rack: Guarded, *words: str, idle: Iterable[str] = ()) -> None:
        self.rack = rack
        self.said: list[str] = []
        self._idle = tuple(idle)
        command = [sys.executable, "-m", "valvey", "commission", str(rack.config), "-o", "json", *words]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
        self._hands = threading.Thread(target=self._listen, daemon=True)
        self._hands.start()

    def _listen(self) -> None:
        doing = ""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line.strip())
            for asked, (kind, tag) in HANDS.items():
                if asked in line and not any(one in asked for one in self._idle):
                    self.rack.bench.fault(kind, tag=tag)
                    doing = kind
            if doing and any(back in line for back in BACK):
                self.rack.bench.ask("fault_clear", kind=doing)
                doing = ""

    def end(self, timeout_s: float = 60.0) -> tuple[int, dict[str, Any]]:
        """Return the exit code and the record that it printed, {} when none."""
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        text = self.process.stdout.read()
        code = self.process.wait(timeout_s)
        self._hands.join(5.0)
        self.process.stdout.close()
        self.process.stderr.close()
        return code, json.loads(text) if text.strip() else {}


@pytest.fixture
def rack(tmp_path: Path) -> Generator[Guarded, None, None]:
    """A rack that was never in service: shut, dark, its feeder locked off, without any memory."""
    with a_rack(tmp_path) as one:
        yield one


@contextmanager
def a_rack(folder: Path) -> Generator[Guarded, None, None]:
    with bench(folder, 1, "--start", "isolated", "--attended", "0", "--speed", f"{SPEED:g}") as one:
        found = Guarded(one, "r01", None, speed=SPEED, armed=False)
        one.fault("feeder_off")
        try:
            yield found
        finally:
            found.close()


def answers(rack: Guarded, **more: Any) -> Path:
    path = rack.folder / "answers.yaml"
    file = {
        "by": "ann lee",
        "otherwise": True,
        "answers": {"order/busbar_meter": {"waive": "its feeder is locked off"}},
    }
    path.write_text(yaml.safe_dump(file | more), encoding="utf-8")
    return path


def run(rack: Guarded, *words: str, idle: Iterable[str] = (), **more: Any) -> tuple[int, dict[str, Any], list[str]]:
    one = Technician(rack, "--answers", str(answers(rack, **more)), "--wait", "8", *words, idle=idle)
    code, record = one.end()
    return code, record, one.said


def verdicts(record: dict[str, Any]) -> dict[str, str]:
    return {one["id"]: f"{one['verdict']}: {one['why']}" for one in record["entries"] if one["verdict"] != "pass"}


def opened(rack: Guarded, since: int) -> list[str]:
    """Outputs that are energised after all that was written since, by the last word of each."""
    last = {one["what"]: one["value"] for one in rack.stamps("register", since=since) if one["what"].startswith("X")}
    return [what for what, value in last.items() if what[:2] in {"XY", "XS", "XI"} and value]


def demanded(rack: Guarded) -> tuple[int, dict[str, str]]:
    """Exit code of `check-config --require-commissioned`, and what it says by line."""
    done = rack.valvey("check-config", str(rack.config), "--require-commissioned", "-o", "json")
    return done.returncode, {one["key"]: one["message"] for one in json.loads(done.stdout)["errors"]}


def test_a_whole_rack_is_commissioned_signed_and_may_then_be_armed(rack: Guarded) -> None:
    assert demanded(rack)[1] == {"": "is not there: the rack was never commissioned"}
    since = rack.last_seq()
    code, record, said = run(rack)
    assert verdicts(record) == {"order/busbar_meter": "waived: its feeder is locked off"}, said
    assert (code, record["signed"]["by"], len(record["entries"])) == (0, "ann lee", 43)
    measured = {one["id"]: one["measured"] for one in record["entries"]}
    assert measured["valve/XV-101"]["opens_s"] == pytest.approx(5.0, abs=0.6), "the simulator's stroke"
    assert measured["expiry/service"]["XS-101"] == pytest.approx(8.0, abs=0.6)
    assert measured["expiry/service"]["XV-101"] == pytest.approx(15.0, abs=0.8)
    assert record["devices"]["valve_controller"]["serial"] == "VC-r01"
    assert opened(rack, since) == []
    document = yaml.safe_load(rack.config.read_text(encoding="utf-8"))
    rack.config.write_text(yaml.safe_dump(document | {"armed": True, "loop": "none"}), encoding="utf-8")
    assert demanded(rack) == (0, {}), "arming changes nothing of what was shown"
    document["limits"]["stroke_101_s"] = 4.0
    rack.config.write_text(yaml.safe_dump(document), encoding="utf-8")
    assert (demanded(rack)[0], "digest" in demanded(rack)[1]) == (2, True)


def test_a_valve_that_does_not_move_and_a_rope_that_stays_dry_fail_and_are_demanded(rack: Guarded) -> None:
    rack.bench.fault("actuator_stuck", tag="XV-101")
    since = rack.last_seq()
    code, record, _ = run(rack, "--line", "leak/LDT-101", "--line", "valve/XV-101", "--wait", "2", idle=["LDT-101"])
    assert code == 1
    assert verdicts(record)["leak/LDT-101"].startswith("fail: stayed dry")
    assert "it never opened" in verdicts(record)["valve/XV-101"]
    assert opened(rack, since) == []
    code, missing = demanded(rack)
    assert (code, missing["leak/LDT-102"]) == (2, "was not done")
    assert (missing["valve/XV-101"][:5], missing["signed"]) == ("fail:", "nobody has signed it")


def test_an_expiry_that_does_not_come_fails_and_the_outputs_are_taken_back(rack: Guarded) -> None:
    host, _, port = rack.bench.ports["racks"]["r01"]["valve_controller"].rpartition(":")
    client = ModbusClient(host=host, port=int(port), unit_id=1)
    assert client.write_multiple_registers(100, [900, 300]), "somebody has set 90 s and 30 s"
    client.close()
    since = rack.last_seq()
    code, record, said = run(rack, "--line", "expiry/service")
    assert code == 1
    assert "XS-101 never went off" in verdicts(record)["expiry/service"], said
    assert opened(rack, since) == []


def test_ctrl_c_in_mid_stroke_leaves_the_valve_shut_and_the_next_run_goes_on(rack: Guarded) -> None:
    assert run(rack, "--line", "device/cdu")[0] == 1
    since = rack.last_seq()
    one = Technician(rack, "--answers", str(answers(rack)), "--line", "valve/XV-101", "--wait", "2")
    rack.until(lambda: opened(rack, since) == ["XY-101"], 20.0, "XV-101 energised")
    one.process.send_signal(signal.SIGINT)
    one.process.send_signal(signal.SIGINT)
    code, _ = one.end(10.0)
    assert (code, opened(rack, since)) == (1, []), one.said
    rack.until(lambda: rack.measured("FT-101") < 1.0 and shut(rack), 5.0, "XV-101 shut")
    assert any("what is done is kept" in line for line in one.said)
    code, record, said = run(rack, "--line", "device/leak_panel")
    assert any("1 of 43 lines are done already" in line for line in said)
    assert {one["id"]: one["verdict"] for one in record["entries"]} == {
        "device/cdu": "pass",
        "device/leak_panel": "pass",
    }

    document = yaml.safe_load(rack.config.read_text(encoding="utf-8"))
    document["limits"]["rating_kw"] = 131.0
    rack.config.write_text(yaml.safe_dump(document), encoding="utf-8")
    code, record, said = run(rack, "--line", "device/leak_panel")
    assert [one["id"] for one in record["entries"]] == ["device/leak_panel"]
    assert any("the configuration has changed since" in line for line in said)
    assert (rack.folder / "memory" / "signoff.void-1.json").exists()


def test_a_live_feeder_takes_the_permit_back_and_a_guarded_or_open_rack_is_not_touched(rack: Guarded) -> None:
    rack.bench.ask("fault_clear", kind="feeder_off")
    since = rack.last_seq()
    code, record, _ = run(rack, "--line", "permit/XS-101")
    assert code == 1
    assert "the feeder must be locked off" in verdicts(record)["permit/XS-101"]
    on, off = (rack.stamps("register", since=since, what="XI-101"))[:2]
    assert (on["value"], off["value"], opened(rack, since)) == (1.0, 0.0, [])
    assert (off["mono_ns"] - on["mono_ns"]) / 1e9 * SPEED < 2.0, "as soon as the bus-bar's meter shows it"
    rack.start()
    code, _, said = run(rack, "--line", "valve/XV-101")
    assert (code, "holds it" in said[-1]) == (3, True)
    rack.stop()
    rack.bench.fault("feedback_lies", tag="XV-102", value=1)
    since = rack.last_seq()
    code, _, said = run(rack, "--line", "valve/XV-101")
    assert (code, "ZSC-102 is 0: XV-102 must be proven shut" in said[-1]) == (3, True)
    assert rack.stamps("write", since=since) == []


def shut(rack: Guarded) -> bool:
    done = rack.valvey("field", str(rack.config), "-o", "jsonl", "--scans", "3").stdout.splitlines()
    values = [json.loads(line)["value"] for line in done if '"ZSC-101"' in line]
    return values[-1:] == [1.0]

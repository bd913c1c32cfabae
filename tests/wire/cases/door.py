"""The door of most field cases: the daemon's own reading of a rack whose CDU, or other device, a test scripts.

``valvey field`` runs as a process with the guard's devices and decoders; its rows are what the safety logic sees.
"""

import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.valvey.racks import ROOT

Row = dict[str, Any]
NORMAL_S = 0.1
TAGS = ("TT-201", "FT-201", "PT-201", "PT-202")
HEAD = """\
profile: case_device
maker: Case
model: device
cite: "tests/wire/cases"
word_order: ABCD
max_registers: 125
holes_ok: false
min_gap_s: 0.0
connections: 1
"""
POINTS = {
    "tt_201": '{table: input, address: 0, type: s16, scale: 0.1, raw_unit: degC, unit: degC, range: [-40, 120], sentinels: [-32768], verified: none, cite: "case"}',
    "spare":  '{table: input, address: 1, type: s16, scale: 0.1, raw_unit: degC, unit: degC, range: [-40, 120], verified: none, cite: "case"}',
    "ft_201": '{table: input, address: 2, type: f32, raw_unit: L/min, unit: L/min, range: [-500, 5000], verified: none, cite: "case"}',
    "pt_201": '{table: input, address: 10, type: u16, scale: 0.01, raw_unit: bar, unit: kPa, range: [0, 1600], sentinels: [65535], verified: none, cite: "case"}',
    "pt_202": '{table: input, address: 20, type: u16, scale: 0.01, raw_unit: bar, unit: kPa, range: [0, 1600], sentinels: [65535], verified: none, cite: "case"}',
}  # fmt: skip
"""The reference points of the cases: one request brings TT-201 and FT-201, one each PT-201 and PT-202 (equal lengths)."""
TRUE_WORDS = {0: 185, 1: 0, 2: 0x43FA, 3: 0x0000, 10: 250, 20: 150}
TRUTH = {"TT-201": 18.5, "FT-201": 500.0, "PT-201": 250.0, "PT-202": 150.0}


def profile(points: Mapping[str, str] = POINTS, head: str = HEAD) -> str:
    rows = "".join(f"  {name}: {point}\n" for name, point in points.items())
    return f"{head}points:\n{rows}expiries: {{}}\noutputs: {{}}\nidentity: null\n"


def bus(way: str, unit: int = 1, timeout_s: float = 0.2, more: str = "") -> str:
    """A bus of the rack's file; ``way`` is e.g. ``tcp: "127.0.0.1:502"``."""
    return f"{{{way}, unit: {unit}, profile: case_device, timeout_s: {timeout_s}{more}}}"


def tcp(address: str, **options: Any) -> str:
    return bus(f'tcp: "{address}"', **options)


def rack_file(folder: Path, cdu: str, *edits: tuple[str, str], device: str | None = None) -> Path:
    """Write a rack whose CDU is ``cdu`` (a bus) by the profile ``device``; nothing else of it answers."""
    profiles = folder / "profiles"
    shutil.copytree(ROOT / "configs" / "profiles", profiles, dirs_exist_ok=True)
    (profiles / "case_device.yaml").write_text(device if device is not None else profile(), encoding="utf-8")
    text = (ROOT / "configs" / "rack.yaml").read_text(encoding="utf-8")
    text = text.replace("policies/", f"{ROOT}/configs/policies/").replace("simulated: false", "simulated: true")
    text = text.replace("fast_s: 0.02, normal_s: 0.2", f"fast_s: 0.05, normal_s: {NORMAL_S}")
    line = next(line for line in text.splitlines() if line.startswith("  cdu:"))
    text = text.replace(line, f"  cdu: {cdu}")
    others = [line for line in text.splitlines() if "{bus: cdu," in line and line.split(":")[0].strip() not in TAGS]
    for line in others:
        text = text.replace(line + "\n", "")
    for number in range(11, 16):  # nobody listens there, which costs nothing
        text = text.replace(f'"192.168.10.{number}:502"', f'"127.0.0.1:{number - 10}"')
    for old, new in edits:
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times"
        text = text.replace(old, new)
    path = folder / "rack.yaml"
    path.write_text(text, encoding="utf-8")
    return path


class FieldRows:
    """The rows that a running ``valvey field`` has printed so far."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.rows: list[Row] = []
        self._news = threading.Condition()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._news:
                self.rows.append(json.loads(line))
                self._news.notify_all()

    def mark(self) -> int:
        return len(self.rows)

    def of(self, tag: str, since: int = 0) -> list[Row]:
        return [row for row in self.rows[since:] if row["tag"] == tag]

    def until(self, tag: str, fits: Callable[[Row], bool], within_s: float = 8.0, since: int = 0) -> Row:
        """Return the first row of ``tag`` that fits; fail when none comes in time."""
        until_s = time.monotonic() + within_s
        at = since
        with self._news:
            while True:
                for row in self.rows[at:]:
                    if row["tag"] == tag and fits(row):
                        return row
                at = len(self.rows)
                left_s = until_s - time.monotonic()
                assert left_s > 0, f"{tag}: {self.of(tag)[-3:]}"
                assert self.process.poll() is None, self.process.returncode
                self._news.wait(min(left_s, 0.5))

    def until_true(self, truth: Mapping[str, float] = TRUTH, within_s: float = 8.0) -> None:
        """Wait until each tag has its true value from now on."""
        since = self.mark()
        for tag, value in truth.items():
            self.until(tag, lambda row, value=value: good(row, value), within_s, since)  # type: ignore[misc]

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)

    def values(self, tag: str, since: int = 0) -> set[float | None]:
        return {row["value"] for row in self.of(tag, since)}

    def never_wrong(self, truth: Mapping[str, float] = TRUTH, since: int = 0) -> None:
        """Every value shown was the tag's own, or none."""
        for tag, value in truth.items():
            shown = self.values(tag, since) - {None}
            assert all(abs(one - value) < 1e-3 for one in shown if one is not None), (tag, shown)


def good(row: Row, value: float) -> bool:
    return bool(row["quality"] == "GOOD" and abs(row["value"] - value) < 1e-3)


def bad(row: Row) -> bool:
    return bool(row["quality"] == "BAD")


def because(reason: str) -> Callable[[Row], bool]:
    return lambda row: bool(row["reason"] == reason and row["value"] is None)


@contextmanager
def field(path: Path, scans: int | None = None) -> Generator[FieldRows, None, None]:
    """Run ``valvey field`` on a rack's file."""
    command = [sys.executable, "-m", "valvey", "field", str(path), "-o", "jsonl"]
    if scans is not None:
        command += ["--scans", str(scans)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        yield FieldRows(process)
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            _, complaint = process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        assert "Traceback" not in complaint, complaint

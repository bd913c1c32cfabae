"""The unit files: what systemd itself says about them, and the promises that no tool of systemd checks."""

import re
import shutil
import subprocess
import sys
from configparser import RawConfigParser
from pathlib import Path

import pytest

UNITS = Path(__file__).resolve().parent.parent / "systemd"
NAMES = tuple(path.name for path in sorted(UNITS.glob("*@.service")))
ANALYZE = shutil.which("systemd-analyze")
TMPFILES = shutil.which("systemd-tmpfiles")

needs_analyze = pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed here")


class _Unit(RawConfigParser):
    """One unit file; a repeated key keeps its last value, which is what these tests look at."""

    def __init__(self, name: str) -> None:
        super().__init__(strict=False, delimiters=("=",), comment_prefixes=("#",), interpolation=None)
        self.read(UNITS / name, encoding="utf-8")

    def optionxform(self, optionstr: str) -> str:
        return optionstr


def _placed(tmp_path: Path, name: str, drop_in: Path | None = None) -> Path:
    """Put a unit where systemd-analyze finds all it names: the commands are replaced by one that exists here."""
    text = (UNITS / name).read_text(encoding="utf-8")
    unit = tmp_path / name
    unit.write_text(re.sub(r"/opt/racky/venv/bin/[a-z-]+", sys.executable, text), encoding="utf-8")
    if drop_in is not None:
        folder = tmp_path / f"{name}.d"
        folder.mkdir()
        shutil.copy(drop_in, folder / drop_in.name.removesuffix(".example"))
    return tmp_path / name.replace("@.", "@r01.")


def _exposure(instance: Path) -> float:
    command = [str(ANALYZE), "security", "--offline=true", "--no-pager", str(instance)]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"exposure level for .*: ([\d.]+)", said.stdout)
    assert found, said.stdout + said.stderr
    return float(found[1])


@needs_analyze
@pytest.mark.parametrize("name", NAMES)
def test_systemd_has_nothing_to_say_against_a_unit(name: str, tmp_path: Path) -> None:
    command = [str(ANALYZE), "verify", "--man=no", str(_placed(tmp_path, name))]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr) == (0, "")  # an unknown key is only told on stderr


@needs_analyze
@pytest.mark.parametrize("name", NAMES)
def test_a_unit_exposes_little(name: str, tmp_path: Path) -> None:
    assert _exposure(_placed(tmp_path, name)) <= 1.5


@needs_analyze
def test_a_serial_line_costs_little_of_that(tmp_path: Path) -> None:
    drop_in = UNITS / "valvey@.service.d" / "serial.conf.example"
    instance = _placed(tmp_path, "valvey@.service", drop_in)
    command = [str(ANALYZE), "verify", "--man=no", str(instance)]
    assert subprocess.run(command, capture_output=True, text=True, check=False).stderr == ""
    bare = tmp_path / "bare"
    bare.mkdir()
    assert _exposure(_placed(bare, "valvey@.service")) < _exposure(instance) <= 2.5  # more than bare: it was read


@pytest.mark.parametrize("name", NAMES)
def test_a_daemon_is_never_given_up_and_always_watched(name: str) -> None:
    unit = _Unit(name)
    assert unit["Unit"]["StartLimitIntervalSec"] == "0"
    service = unit["Service"]
    wanted = {"Type": "notify", "NotifyAccess": "main", "Restart": "always", "WatchdogSec": "2s"}
    assert {key: service[key] for key in wanted} == wanted


@pytest.mark.parametrize("name", NAMES)
def test_the_command_is_one_that_the_project_installs(name: str) -> None:
    scripts = (UNITS.parent / "pyproject.toml").read_text(encoding="utf-8")
    command = _Unit(name)["Service"]["ExecStart"].split()
    assert re.search(rf"^{Path(command[0]).name} = ", scripts, flags=re.MULTILINE)
    assert "run" in command[1:3]  # `valvey run` and its like, or `valvey loop run`


def test_stopping_valvey_leaves_the_outputs_as_found() -> None:
    assert not {"ExecStop", "ExecStopPost", "ExecReload"} & set(_Unit("valvey@.service")["Service"])


def test_stopping_the_coordinator_leaves_the_set_point_as_it_is() -> None:
    assert not {"ExecStop", "ExecStopPost", "ExecReload"} & set(_Unit("valvey-loop@.service")["Service"])


def test_stopping_racky_leaves_every_output_as_it_is() -> None:
    assert not {"ExecStop", "ExecStopPost", "ExecReload"} & set(_Unit("racky@.service")["Service"])


@pytest.mark.parametrize("name", NAMES)
def test_no_daemon_waits_for_or_ends_with_another(name: str) -> None:
    unit = _Unit(name)["Unit"]
    assert not {"Wants", "Requires", "BindsTo", "PartOf", "Before", "Conflicts"} & set(unit)


def test_valvey_waits_for_no_broker_and_no_network() -> None:
    unit = _Unit("valvey@.service")["Unit"]
    named = " ".join(unit.get(key, "") for key in ("After", "Wants", "Requires", "BindsTo", "PartOf"))
    assert "mosquitto" not in named
    assert "network-online" not in named


def test_a_restart_after_a_hang_beats_the_permit_expiry() -> None:
    service = _Unit("valvey@.service")["Service"]
    watchdog_s, abort_s = (float(service[key].removesuffix("s")) for key in ("WatchdogSec", "TimeoutAbortSec"))
    restart_s = float(service["RestartSec"].removesuffix("ms")) / 1000.0
    permit_expiry_s, start_s = 8.0, 2.0  # the ladder of SAFETY.md; the first scan of a cold interpreter
    assert watchdog_s + abort_s + restart_s + start_s < permit_expiry_s


def test_the_count_of_starts_outlives_the_process_and_the_boot_id_can_be_read() -> None:
    service = _Unit("valvey@.service")["Service"]
    assert service["RuntimeDirectoryPreserve"] == "yes"
    assert service.get("ProcSubset", "all") == "all"


def test_a_missing_password_does_not_keep_valvey_from_starting() -> None:
    service = _Unit("valvey@.service")["Service"]
    name = service["LoadCredential"].split(":")[0]
    assert service["SetCredential"].split(":") == [name, r"\n"]


@pytest.mark.skipif(TMPFILES is None, reason="systemd-tmpfiles is not installed here")
def test_the_secrets_folder_is_made_for_root_alone(tmp_path: Path) -> None:
    text = (UNITS / "tmpfiles.d" / "racky.conf").read_text(encoding="utf-8")
    rules = tmp_path / "racky.conf"
    rules.write_text(text.replace(r" root root ", " - - "), encoding="utf-8")  # owners only root may give
    command = [str(TMPFILES), "--create", f"--root={tmp_path / 'root'}", str(rules)]
    (tmp_path / "root").mkdir()
    subprocess.run(command, check=True, capture_output=True)
    folder = tmp_path / "root" / "etc" / "racky" / "credentials"
    assert folder.stat().st_mode & 0o777 == 0o700

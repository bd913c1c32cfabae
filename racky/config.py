"""A rack's file of Racky: read, checked as a whole, all faults told at once. ``load`` is the only way to a ``RackyConfig``."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fieldkit.bus_profiles import document_of, profiles_of
from fieldkit.config_draft import Draft, read
from fieldkit.errors import ConfigError, Fault, nearest
from fieldkit.profile import Profile
from fieldkit.units import Unit
from racky.config_models import RackyFile
from racky.core.gates import Gate
from racky.core.inventory import Release
from racky.core.plan import Times
from racky.lifecycle_file import read_detectors, read_gates, read_manifest, read_times
from racky.places import Place, output_places, places

NEUTRAL: dict[str, Any] = {
    "site": "site", "rack": "rack", "loop": "none",
    "power": {"rating_kw": 132.0, "budget_kw": 132.0, "flow_nominal_lpm": 198.0},
    "mqtt": {"host": "localhost", "port": 1883},
    "memory": {"directory": "memory", "runtime_directory": "run"},
}  # fmt: skip
"""Stands in for what a file lacks, so that the rest of it can be checked; such a file is never loaded."""
LEAST_MAX_AGE_S = 2.0
PERIODS_TO_STALE = 3.0
ROOM = ("TT-110", "MT-110", "ZS-110")


@dataclass(frozen=True, slots=True)
class RackyConfig:
    """One rack's file. Relative paths in it are seen from its directory; ``digest`` is over all that decides what it does."""

    file: Path
    data: RackyFile
    profiles: Mapping[str, Profile]
    gates: tuple[Gate, ...]
    releases: tuple[Release, ...]
    images: Mapping[str, bytes]
    digest: str
    times: Times
    detectors: tuple[str, ...]

    def path(self, name: str) -> Path:
        return self.file.parent / name

    @property
    def inputs(self) -> dict[str, Place]:
        """Everything that is read, by tag."""
        return places(self.data)

    @property
    def outputs(self) -> dict[str, Place]:
        """Everything that may ever be written, by tag."""
        return output_places(self.data)

    def period_s(self, lane: str) -> float:
        scan = self.data.scan
        return {"fast": scan.period_s, "normal": scan.normal_s, "slow": scan.slow_s}[lane]

    @property
    def max_age_s(self) -> dict[str, float]:
        """How old a reading may be, by tag."""
        return {
            tag: max(PERIODS_TO_STALE * self.period_s(place.lane), LEAST_MAX_AGE_S)
            for tag, place in self.inputs.items()
        }

    def min_gap_s(self, bus: str) -> float:
        stated = self.data.buses[bus].min_gap_s
        return self.profiles[bus].min_gap_s if stated is None else stated


def load(path: Path) -> RackyConfig:
    """Read and check a rack's file with its profiles, gates and manifest. Raises ConfigError naming every fault of all of them."""
    document, found = document_of(path, "a rack's file of Racky")
    draft = read(document, found, RackyFile, NEUTRAL)
    profiles, others = profiles_of(draft, draft.model.buses, path.parent / draft.model.profiles_dir)
    _check(draft, profiles)
    gates, releases, images = _lifecycle(draft, path.parent, others)
    if faults := [*draft.faults, *others]:
        raise ConfigError(sorted(faults, key=lambda fault: (fault.file != str(path), fault.file, fault.line or 0)))
    stated = draft.model.lifecycle
    times = Times() if stated is None else read_times(path.parent / stated.gates)
    detectors = () if stated is None else read_detectors(path.parent / stated.gates)
    canonical = {
        "racky": draft.model.model_dump(mode="json"),
        "profiles": {bus: profile.model_dump(mode="json") for bus, profile in profiles.items()},
        "gates": [str(gate) for gate in gates],
        "times": str(times),
        "detectors": detectors,
        "releases": [str(release) for release in releases],
    }
    digest = hashlib.sha256(json.dumps(canonical, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    return RackyConfig(path, draft.model, profiles, gates, releases, images, digest, times, detectors)


def _lifecycle(
    draft: Draft[RackyFile], base: Path, others: list[Fault]
) -> tuple[tuple[Gate, ...], tuple[Release, ...], dict[str, bytes]]:
    """Read gates and manifest; what is wrong in their files goes to ``others``."""
    stated = draft.model.lifecycle
    gates, releases, images = tuple[Gate, ...](), tuple[Release, ...](), dict[str, bytes]()
    if stated is None:
        return gates, releases, images
    try:
        gates = read_gates(base / stated.gates)
    except ConfigError as error:
        others += error.faults
    try:
        releases, images = read_manifest(base / stated.manifest)
    except ConfigError as error:
        others += error.faults
    return gates, releases, images


def _check(draft: Draft[RackyFile], profiles: Mapping[str, Profile]) -> None:
    """Add every fault that shows only when the parts are seen together."""
    data, power = draft.model, draft.model.power
    if data.speed is not None and not data.simulated:
        draft.add(("speed",), "time runs as it runs on a real rack", "speed only with simulated: true")
    if power.budget_kw > power.rating_kw:
        draft.add(("power", "budget_kw"), "is above the rating", f"at most {power.rating_kw:g}")
    for tag in data.tags:
        if not _is_ours(tag):
            allowed = f"{', '.join(ROOM)}, JT-130, CT-130A, CT-130B, CT-130C; shelves have theirs under power"
            draft.add(("tags", tag), f"{tag} is no tag of Racky's own", allowed, nearest(tag, (*ROOM, "JT-130")))
    numbers = [shelf.number for shelf in power.shelves]
    _twice(draft, "shelves", numbers)
    _twice(draft, "batteries", [battery.number for battery in power.batteries])
    for at, number in enumerate(power.shed):
        if number not in numbers:
            draft.add(("power", "shed", at), f"no shelf {number}", ", ".join(map(str, numbers)) or "no shelf is named")
    shares: dict[tuple[str, str, int], str] = {}
    for name, bus in data.buses.items():
        same = shares.setdefault((bus.by, bus.way, bus.unit), name)
        if same != name:
            draft.add(("buses", name, bus.by), f"is the same device as bus {same}", "one bus a device")
    if data.lifecycle is not None:
        for name in data.lifecycle.expected:
            if name not in data.buses:
                near = nearest(name, data.buses)
                draft.add(("lifecycle", "expected", name), f"no bus {name!r}", ", ".join(data.buses), near)
    for path, tag, place in _placed(data):
        _point(draft, profiles, path, tag, place)


def _is_ours(tag: str) -> bool:
    letters, _, loop = tag.partition("-")
    return tag in ROOM or (letters in {"JT", "CT"} and loop.startswith("13"))


def _twice(draft: Draft[RackyFile], what: str, numbers: list[int]) -> None:
    for at, number in enumerate(numbers):
        if number in numbers[:at]:
            draft.add(("power", what, at, "number"), f"{number} stands twice", "a number of its own")


def _placed(data: RackyFile) -> Iterator[tuple[tuple[str | int, ...], str, Place]]:
    """Every tag with its place, and where the file says so."""
    where: dict[str, tuple[str | int, ...]] = {tag: ("tags", tag) for tag in data.tags}
    own = {**places(data), **output_places(data)}
    numbers = {
        "shelves": [shelf.number for shelf in data.power.shelves],
        "batteries": [battery.number for battery in data.power.batteries],
    }
    for kind, found in numbers.items():
        for at, number in enumerate(found):
            where |= {tag: ("power", kind, at) for tag in own if tag.partition("-")[2][:3] == str(number)}
    for tag, place in own.items():
        yield where[tag], tag, place


def _point(
    draft: Draft[RackyFile], profiles: Mapping[str, Profile], path: tuple[str | int, ...], tag: str, place: Place
) -> None:
    data = draft.model
    if place.bus not in data.buses:
        near = nearest(place.bus, data.buses)
        draft.add((*path, "bus"), f"{tag}: no bus {place.bus!r}", ", ".join(data.buses) or "no bus is named", near)
        return
    profile = profiles.get(place.bus)
    if profile is None:
        return
    point = profile.points.get(place.point)
    if point is None:
        near = nearest(place.point, profile.points)
        draft.add(path, f"{tag}: profile {profile.profile} has no point {place.point!r}", None, near)
    elif place.output and (not point.writable or point.persistent or point.unit is not Unit.NONE):
        draft.add(path, f"{tag}: {place.point} is no output that can be switched", "a writable point without a unit")

"""A loop's configuration file: read, checked as a whole, all faults told at once."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fieldkit import profile_file
from fieldkit.bus_profiles import document_of
from fieldkit.config_draft import Draft, read
from fieldkit.errors import ConfigError, Fault, nearest
from fieldkit.point import Point
from fieldkit.profile import Profile
from fieldkit.units import Unit
from valvey.core.loop.gate import FLOORS, POINTS, RUN, SUPPLY
from valvey.core.loop.limits import Bounds, LoopLimits, Mode, RackRow
from valvey.core.loop.seen import MODE_TAG, RUN_TAG, SET_POINT_TAGS, SPEED_TAG, SUPPLY_TAG, TRIP_TAG
from valvey.loop.models import LoopFile, SetPoint, SupplySetPoint

NEEDED = ("PT-201", "PT-202", "FT-201", "TT-201")
UNITS = {Mode.FIXED_SPEED: Unit.PERCENT, Mode.CONSTANT_DP: Unit.KPA, Mode.CONSTANT_FLOW: Unit.L_MIN}
NEUTRAL: dict[str, Any] = {
    "site": "site",
    "loop": "loop",
    "cdu": {
        "tcp": "localhost:502", "unit": 1, "profile": "no_profile", "timeout_s": 0.25, "points": {}, "mode": {"point": "mode"},
        "speed": "speed", "set_points": {},
    },
    "pumps": {"dead_head_kpa": 400.0, "rated_lpm": 1000.0, "design_dp_kpa": 200.0},
    "vessel": {"gas_l": 60.0, "at_kpa": 150.0},
    "racks": {"rack": {"rating_kw": 132.0, "flow_nominal_lpm": 198.0, "fcv_kvs_m3_h": 30.4, "volume_l": 45.0}},
    "mqtt": {"host": "localhost", "port": 1883},
    "memory": {"directory": "memory", "runtime_directory": "run"},
}  # fmt: skip
"""Stands in for what a file lacks, so that the rest of it can be checked; such a file is never loaded."""


@dataclass(frozen=True, slots=True)
class LoopConfig:
    """One loop. Relative paths are seen from its file's directory; ``digest`` is over all that decides what it does."""

    file: Path
    data: LoopFile
    profile: Profile
    digest: str

    def path(self, name: str) -> Path:
        return self.file.parent / name

    @property
    def tags(self) -> dict[str, str]:
        """Tag → point of the profile of everything that is read."""
        return tags_of(self.data)

    @property
    def point_of(self) -> dict[str, str]:
        """What the gate calls a set-point, or the pumps' command → the profile's point."""
        run, supply = self.data.cdu.run, self.data.cdu.supply
        points = {POINTS[mode]: one.point for mode, one in set_points(self.data).items()}
        points |= {} if supply is None else {SUPPLY: supply.point}
        return points if run is None else {**points, RUN: run}


def set_points(data: LoopFile) -> dict[Mode, SetPoint]:
    """The set-points that are stated, by mode."""
    stated = data.cdu.set_points
    rows = {
        Mode.FIXED_SPEED: stated.fixed_speed,
        Mode.CONSTANT_DP: stated.constant_dp,
        Mode.CONSTANT_FLOW: stated.constant_flow,
    }
    return {mode: one for mode, one in rows.items() if one is not None}


def tags_of(data: LoopFile) -> dict[str, str]:
    cdu = data.cdu
    trip = {} if cdu.pump_trip is None else {TRIP_TAG: cdu.pump_trip}
    trip |= {} if cdu.run is None else {RUN_TAG: cdu.run}
    trip |= {} if cdu.supply is None else {SUPPLY_TAG: cdu.supply.point}
    own = {SET_POINT_TAGS[mode]: one.point for mode, one in set_points(data).items()}
    return {**cdu.points, MODE_TAG: cdu.mode.point, SPEED_TAG: cdu.speed, **trip, **own}


def load(path: Path) -> LoopConfig:
    """Read and check a loop's file and its profile. Raises ConfigError naming every fault of both."""
    document, found = document_of(path, "a loop's file")
    draft = read(document, found, LoopFile, NEUTRAL)
    profile, others = _profile(draft, path.parent)
    _check(draft, profile)
    faults = [*draft.faults, *others]
    if faults or profile is None:
        raise ConfigError(sorted(faults, key=lambda fault: (fault.file != str(path), fault.file, fault.line or 0)))
    canonical = {"loop": draft.model.model_dump(mode="json"), "profile": profile.model_dump(mode="json")}
    digest = hashlib.sha256(json.dumps(canonical, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    return LoopConfig(path, draft.model, profile, digest)


def _profile(draft: Draft[LoopFile], base: Path) -> tuple[Profile | None, list[Fault]]:
    folder, name = base / draft.model.profiles_dir, draft.model.cdu.profile
    known = sorted(path.stem for path in folder.glob("*.yaml"))
    if name not in known:
        allowed = ", ".join(known) or f"a file in {folder}, which has none"
        draft.add(("cdu", "profile"), f"no profile {name!r} in {folder}", allowed, nearest(name, known))
        return None, []
    try:
        return profile_file.load(folder / f"{name}.yaml"), []
    except ConfigError as error:
        return None, list(error.faults)


def _check(draft: Draft[LoopFile], profile: Profile | None) -> None:
    """Add every fault that shows only when the parts are seen together."""
    data = draft.model
    if data.speed is not None and not data.simulated:
        draft.add(("speed",), "time runs as it runs on a real loop", "speed only with simulated: true")
    if draft.document.data.get("racks") == {}:
        draft.add(("racks",), "no rack is named", "name: {rating_kw, flow_nominal_lpm, fcv_kvs_m3_h, volume_l, ...}")
    for tag in NEEDED:
        if tag not in data.cdu.points:
            draft.add(("cdu", "points", tag), f"{tag} is missing", "a point of the CDU's profile")
    for number, tag in enumerate(data.cdu.detectors):
        if tag not in data.cdu.points and draft.has(("cdu", "detectors")):
            draft.add(("cdu", "detectors", number), f"{tag} is not among cdu.points", "a tag that is read")
    numbers = [data.cdu.mode.fixed_speed, data.cdu.mode.constant_dp, data.cdu.mode.constant_flow]
    if len(set(numbers)) < len(numbers):
        draft.add(("cdu", "mode"), "two modes have the same number", "three different numbers")
    for name, rack in data.racks.items():
        if rack.sump is not None and rack.sump not in data.sumps:
            allowed = ", ".join(data.sumps) or "none is declared under sumps"
            draft.add(("racks", name, "sump"), f"no sump {rack.sump!r}", allowed, nearest(rack.sump, data.sumps))
    if data.pumps.design_dp_kpa >= data.pumps.dead_head_kpa:
        draft.add(
            ("pumps", "design_dp_kpa"), "is not below the pumps' dead head", f"below {data.pumps.dead_head_kpa:g}"
        )
    flow = data.cdu.set_points.constant_flow
    if flow is not None and flow.low < data.pumps.least_lpm and not data.pumps.bypass_fitted:
        at = ("cdu", "set_points", "constant_flow", "low")
        draft.add(at, "is below the pumps' minimum flow, and no bypass is fitted", f"at least {data.pumps.least_lpm:g}")
    if data.policy.pump_stop != "never" and data.cdu.run is None:
        draft.add(("policy", "pump_stop"), "the pumps' command is not named", "'run' under cdu, or never")
    if profile is not None:
        _points(draft, profile)


def _points(draft: Draft[LoopFile], profile: Profile) -> None:
    cdu = draft.model.cdu
    named: dict[tuple[str, ...], str] = {("cdu", "points", tag): point for tag, point in cdu.points.items()}
    named |= {("cdu", "mode", "point"): cdu.mode.point, ("cdu", "speed"): cdu.speed}
    if cdu.pump_trip is not None:
        named["cdu", "pump_trip"] = cdu.pump_trip
    if cdu.run is not None:
        named["cdu", "run"] = cdu.run
        run = profile.points.get(cdu.run)
        if run is not None and (not run.writable or run.persistent or run.unit is not Unit.NONE):
            draft.add(("cdu", "run"), f"{cdu.run} is no command that can be written", "a writable point without a unit")
    if cdu.supply is not None:
        named["cdu", "supply", "point"] = cdu.supply.point
        _supply(draft, profile.points.get(cdu.supply.point), cdu.supply)
    for at, name in named.items():
        if name not in profile.points:
            near = nearest(name, profile.points)
            draft.add(at, f"profile {profile.profile} has no point {name!r}", ", ".join(profile.points), near)
    for mode, stated in set_points(draft.model).items():
        _set_point(draft, profile, mode, stated)


def _supply(draft: Draft[LoopFile], point: Point | None, stated: SupplySetPoint) -> None:
    at, most_c = ("cdu", "supply"), draft.model.limits.supply_h_c
    if point is not None and (not point.writable or point.persistent or point.unit is not Unit.DEG_C):
        draft.add((*at, "point"), f"{stated.point} is no temperature that can be written", "a set-point in degC")
    if stated.low >= stated.high:
        draft.add((*at, "high"), "is not above low", f"above {stated.low:g}")
    if stated.high >= most_c:
        draft.add((*at, "high"), "nothing is opened at such a supply", f"below limits.supply_h_c, {most_c:g}")


def _set_point(draft: Draft[LoopFile], profile: Profile, mode: Mode, stated: SetPoint) -> None:
    at = ("cdu", "set_points", str(mode))
    point = profile.points.get(stated.point)
    if point is None:
        near = nearest(stated.point, profile.points)
        draft.add((*at, "point"), f"profile {profile.profile} has no point {stated.point!r}", None, near)
        return
    for wrong, message, allowed in _wrong(point, mode, stated):
        draft.add((*at, wrong), message, allowed)


def _wrong(point: Point, mode: Mode, stated: SetPoint) -> list[tuple[str, str, str]]:
    out = []
    if not point.writable or point.persistent:
        out.append((
            "point",
            f"{stated.point} cannot be written again and again",
            "a writable point that does not wear out",
        ))
    if point.unit is not UNITS[mode]:
        out.append((
            "point",
            f"{stated.point} is in {point.unit}, not in {UNITS[mode]}",
            f"a set-point in {UNITS[mode]}",
        ))
    if stated.low < FLOORS[mode]:
        out.append(("low", f"{stated.low:g} {UNITS[mode]} would all but stop the flow", f"at least {FLOORS[mode]:g}"))
    if stated.low >= stated.high:
        out.append(("high", "is not above low", f"above {stated.low:g}"))
    if point.range is not None and stated.high > point.range[1]:
        out.append(("high", f"{stated.point} takes at most {point.range[1]:g}", f"at most {point.range[1]:g}"))
    return out


def to_limits(config: LoopConfig) -> LoopLimits:
    """Return what the core takes from a loop's configuration."""
    data = config.data
    cdu, pumps = data.cdu, data.pumps
    return LoopLimits(
        racks={
            name: RackRow(
                name,
                one.rating_kw,
                one.flow_nominal_lpm,
                one.priority,
                one.fcv_kvs_m3_h,
                one.fcv_rangeability,
                one.volume_l,
                one.sump,
            )
            for name, one in data.racks.items()
        },
        bounds={mode: Bounds(one.low, one.high) for mode, one in set_points(data).items()},
        supply=None if cdu.supply is None else Bounds(cdu.supply.low, cdu.supply.high),
        modes={
            cdu.mode.fixed_speed: Mode.FIXED_SPEED,
            cdu.mode.constant_dp: Mode.CONSTANT_DP,
            cdu.mode.constant_flow: Mode.CONSTANT_FLOW,
        },
        dead_head_kpa=pumps.dead_head_kpa,
        design_dp_kpa=pumps.design_dp_kpa,
        rated_lpm=pumps.rated_lpm,
        pump_least_lpm=pumps.least_lpm,
        bypass_fitted=pumps.bypass_fitted,
        header_loss_kpa=data.header.loss_kpa,
        dp_remote=data.header.dp_remote,
        vessel_gas_l=data.vessel.gas_l,
        vessel_kpa=data.vessel.at_kpa,
        makeup_lpm=data.makeup.flow_lpm,
        reservoir_l=data.makeup.reservoir_l,
        sumps_l={name: one.capacity_l for name, one in data.sumps.items()},
        detectors=tuple(tag for tag in cdu.detectors if tag in cdu.points),
        armed=data.armed,
        simulated=data.simulated,
        pump_stop=data.policy.pump_stop == "when_all_dark",
        stop_most_s=data.policy.stop_most_s,
        actions={str(name): action for name, action in data.policy.events.items()},
        stagger_s=data.policy.stagger_s,
        max_age_s=max(1.0, 3.0 * data.scan.period_s),
        **dict(data.limits),
    )

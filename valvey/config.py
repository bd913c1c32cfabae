"""A rack's configuration file: read, checked as a whole, all faults told at once.

``load`` is the only way to a ``RackConfig`` for whoever acts on it: such a rack's file has passed every check.
"""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fieldkit import profile_file, yamlfile
from fieldkit.config_draft import Draft, read
from fieldkit.errors import ConfigError, Fault, nearest
from fieldkit.profile import Profile
from valvey.config_check import check
from valvey.config_models import RackFile
from valvey.config_rack import SIF_1_HOLD_S, RackConfig, to_limits
from valvey.core.policy import DEFAULT_POLICY, PolicyRule
from valvey.policy_file import NEUTRAL as NEUTRAL_POLICY
from valvey.policy_file import PolicyFile, rules_of

__all__ = ["RackConfig", "load", "to_limits"]

NEUTRAL: dict[str, Any] = {
    "site": "site",
    "rack": "rack",
    "scan": {"fast_s": 0.02, "normal_s": 0.2, "slow_s": 60.0},
    "buses": {},
    "tags": {},
    "limits": {
        "rating_kw": 132.0,
        "flow_nominal_lpm": 198.0,
        "kv_rack_m3_h": 12.5,
        "supply_hh_kpa": 540.0,
        "stroke_101_s": 3.5,
        "stroke_102_s": 3.5,
    },
    "memory": {"directory": "memory", "runtime_directory": "run"},
}
"""Stands in for what a file lacks, so that the rest of it can be checked; such a file is never loaded."""


def load(path: Path) -> RackConfig:
    """Read and check a rack's file, its profiles and its policy. Raises ConfigError naming every fault of all of them."""
    document, faults = _document(path)
    draft = read(document, faults, RackFile, NEUTRAL)
    profiles, others = _profiles(draft, path.parent)
    config = RackConfig(path, draft.model, profiles, (), "")
    policy, named = _policy(draft, config, others)
    config = RackConfig(path, draft.model, profiles, policy, _digest(draft.model, profiles, policy))
    check(draft, config, named)
    if found := [*draft.faults, *others]:
        raise ConfigError(sorted(found, key=lambda fault: (fault.file != str(path), fault.file, fault.line or 0)))
    return config


def _document(path: Path) -> tuple[yamlfile.Document, list[Fault]]:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ConfigError([Fault(str(path), None, "", f"cannot be read: {error.strerror}", "a rack's file")]) from error
    return yamlfile.parse_what_can_be(raw, str(path))


def _profiles(draft: Draft[RackFile], base: Path) -> tuple[dict[str, Profile], list[Fault]]:
    """Return the profile of each bus that has a sound one, and the faults of the profiles' own files."""
    folder = base / draft.model.profiles_dir
    known = sorted(path.stem for path in folder.glob("*.yaml"))
    read_once: dict[str, Profile | None] = {}
    out: dict[str, Profile] = {}
    faults: list[Fault] = []
    for bus, one in draft.model.buses.items():
        if one.profile not in known:
            allowed = ", ".join(known) or f"a file in {folder}, which has none"
            draft.add(
                ("buses", bus, "profile"),
                f"no profile {one.profile!r} in {folder}",
                allowed,
                nearest(one.profile, known),
            )
            continue
        if one.profile not in read_once:
            try:
                read_once[one.profile] = profile_file.load(folder / f"{one.profile}.yaml")
            except ConfigError as error:
                read_once[one.profile] = None
                faults += error.faults
        profile = read_once[one.profile]
        if profile is not None:
            out[bus] = profile
    return out, faults


def _policy(draft: Draft[RackFile], config: RackConfig, faults: list[Fault]) -> tuple[tuple[PolicyRule, ...], bool]:
    """Return the leak policy's rules and whether they are whole; what is wrong in the policy's file goes to ``faults``."""
    name, times = draft.model.policy, draft.model.trips.get("SIF-1")
    if name is None:
        return DEFAULT_POLICY, True
    hold_s = SIF_1_HOLD_S
    if times is not None and (times.at_once or times.hold_s is not None):
        hold_s = times.hold_s or 0.0
    try:
        document, found = _document(config.path(name))
        policy = read(document, found, PolicyFile, NEUTRAL_POLICY)
    except ConfigError as error:
        if any(fault.line is None for fault in error.faults):
            draft.add(("policy",), f"{name}: {error.faults[0].message}", "a policy file, seen from this file")
        else:
            faults += error.faults
        return (), False
    rules = rules_of(policy, config.detectors, hold_s=hold_s, fast_s=draft.model.scan.fast_s)
    faults += policy.faults
    return rules, not policy.gone


def _digest(data: RackFile, profiles: dict[str, Profile], policy: tuple[PolicyRule, ...]) -> str:
    """Return sha256 over everything that decides what the rack does, written in one way only."""
    canonical = {
        "rack": data.model_dump(mode="json"),
        "profiles": {bus: profile.model_dump(mode="json") for bus, profile in profiles.items()},
        "policy": [asdict(rule) for rule in policy],
    }
    return hashlib.sha256(json.dumps(canonical, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

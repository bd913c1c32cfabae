"""A rack's configuration file: read, checked as a whole, all faults told at once.

``load`` is the only way to a ``RackConfig`` for whoever acts on it: such a rack's file has passed every check.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fieldkit.bus_profiles import document_of, profiles_of
from fieldkit.config_draft import Draft, read
from fieldkit.errors import ConfigError, Fault
from fieldkit.profile import Profile
from valvey.config_check import check
from valvey.config_models import RackFile
from valvey.config_rack import SIF_1_HOLD_S, RackConfig, to_limits
from valvey.core.policy import DEFAULT_POLICY, PolicyRule
from valvey.policy_file import NEUTRAL as NEUTRAL_POLICY
from valvey.policy_file import PolicyFile, rules_of

__all__ = ["RackConfig", "field_digest", "load", "to_limits"]

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
    document, faults = document_of(path, "a rack's file")
    draft = read(document, faults, RackFile, NEUTRAL)
    profiles, others = profiles_of(draft, draft.model.buses, path.parent / draft.model.profiles_dir)
    config = RackConfig(path, draft.model, profiles, (), "")
    policy, named = _policy(draft, config, others)
    config = RackConfig(path, draft.model, profiles, policy, digest_of(draft.model, profiles, policy))
    check(draft, config, named)
    if found := [*draft.faults, *others]:
        raise ConfigError(sorted(found, key=lambda fault: (fault.file != str(path), fault.file, fault.line or 0)))
    return config


def _policy(draft: Draft[RackFile], config: RackConfig, faults: list[Fault]) -> tuple[tuple[PolicyRule, ...], bool]:
    """Return the leak policy's rules and whether they are whole; what is wrong in the policy's file goes to ``faults``."""
    name, times = draft.model.policy, draft.model.trips.get("SIF-1")
    if name is None:
        return DEFAULT_POLICY, True
    hold_s = SIF_1_HOLD_S
    if times is not None and (times.at_once or times.hold_s is not None):
        hold_s = times.hold_s or 0.0
    try:
        document, found = document_of(config.path(name), "a policy's file")
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


def field_digest(config: RackConfig) -> str:
    """Return the digest of ``config`` as if it were not armed: what was shown of a field holds when the rack is armed later."""
    return digest_of(config.data.model_copy(update={"armed": False}), config.profiles, config.policy)


def digest_of(data: RackFile, profiles: Mapping[str, Profile], policy: tuple[PolicyRule, ...]) -> str:
    """Return sha256 over everything that decides what the rack does, written in one way only."""
    canonical = {
        "rack": data.model_dump(mode="json"),
        "profiles": {bus: profile.model_dump(mode="json") for bus, profile in profiles.items()},
        "policy": [asdict(rule) for rule in policy],
    }
    return hashlib.sha256(json.dumps(canonical, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

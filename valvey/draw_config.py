"""The configuration's reference, from the models that read it."""

from fieldkit import config_bus, config_parts, conflicts, point, profile, scaling
from fieldkit.markdown import sections, table
from fieldkit.profile import Profile
from valvey import config_models
from valvey.config_models import RackFile
from valvey.ladder import (
    BLIND_DARK_MOST_S,
    FAST_SCAN_MOST_S,
    FAST_TIMEOUT_MOST_S,
    FLOW_LAG_MOST_S,
    PERMIT_DROP_S,
    PERMIT_FIRST_S,
    PERMIT_SHARE,
    PST_KJ,
    PST_SHARE,
    RELAY_S,
    RESTART_S,
)
from valvey.lines import MOST_SHARE
from valvey.loop import models as loop_models
from valvey.loop.models import LoopFile
from valvey.policy_file import PolicyFile


def reference() -> str:
    """Return every key of a rack's file and of a leak policy, with type, bounds, default and meaning."""
    return (
        "## A rack's file\n\n"
        + sections(RackFile.model_json_schema(), config_parts, config_models, config_bus)
        + "\n## A leak policy\n\n"
        + sections(PolicyFile.model_json_schema(), config_parts, config_models, config_bus)
    )


def loop_reference() -> str:
    """Return every key of a loop's file."""
    return sections(LoopFile.model_json_schema(), config_parts, config_models, config_bus, loop_models)


def profile_reference() -> str:
    """Return every key of a device profile."""
    return sections(Profile.model_json_schema(), conflicts, point, profile, scaling)


def ladder() -> str:
    """Return the inequalities that `valvey check-config` enforces."""
    rows = (
        ("process safety time without flow, PST(P)", f"{PST_KJ:g} kJ / rating (est.)", "-"),
        ("fast scan", "scan.fast_s", f"at most {FAST_SCAN_MOST_S:g} s"),
        ("timeout in the fast lane", "buses.*.timeout_s", f"at most {FAST_TIMEOUT_MOST_S:g} s"),
        ("stale", "max(3 periods of its lane, 0.5 s)", "-"),
        ("lag of FT-101, FT-102", "tags.FT-101.lag_s", f"at most {FLOW_LAG_MOST_S:g} s"),
        ("a serial line", "all that is asked on it: bytes, gaps, reply delays of the profiles", f"at most {100 * MOST_SHARE:.0f} % of its time"),
        ("lane period, on a serial line", "+ one turn of all that is asked at least as often", "-"),
        ("write timeout, on a serial line", "+ the longest exchange, which may be under way", "-"),
        ("SIF-4", f"1.4 lag + lane period + fast scan + hold + write timeout + relay {RELAY_S:g} s", f"at most {PST_SHARE:g} PST(rating)"),
        ("SIF-4 blind", f"age at which readings are stale + blind_s + fast scan + write timeout + relay {RELAY_S:g} s", f"at most {PST_SHARE:g} PST(rating)"),
        ("DARK with every sensor bad", "age at which readings are stale + SIF-4's blind_s", f"at most {BLIND_DARK_MOST_S:g} s"),
        ("last write before a crash to the first after it", f"{RESTART_S:g} s", "below the permit expiry"),
        ("permit expiry", f"XS-101's, + {PERMIT_DROP_S:g} s", f"at most {PERMIT_SHARE:g} PST(rating)"),
        ("permit expiry", "XS-101's", f"below the valve expiry less {PERMIT_FIRST_S:g} s"),
        ("SIF-8", "limits.write_dark_s", f"below the valve expiry less {PERMIT_FIRST_S:g} s"),
        ("SIF-8's alarm", "limits.write_alarm_s", "below limits.write_dark_s"),
        ("hold", "trips.*.hold_s, persist_s of a rule", "at least two fast scans, or the word at_once; at most twice the design's"),
        ("blind", "trips.*.blind_s", "at least twice the age at which readings are stale; at most twice the design's"),
    )  # fmt: skip
    return table(("what", "value", "must be"), rows)

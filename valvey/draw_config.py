"""The configuration's reference, from the models that read it."""

import ast
import inspect
from collections.abc import Iterable
from itertools import pairwise
from types import ModuleType
from typing import Any

from fieldkit import config_bus, config_parts, conflicts, point, profile, scaling
from fieldkit.config_draft import in_words
from fieldkit.profile import Profile
from valvey import config_models
from valvey.config_models import RackFile
from valvey.draw_tables import table
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
        + _sections(RackFile.model_json_schema())
        + "\n## A leak policy\n\n"
        + _sections(PolicyFile.model_json_schema())
    )


def loop_reference() -> str:
    """Return every key of a loop's file."""
    return _sections(LoopFile.model_json_schema(), config_parts, config_models, config_bus, loop_models)


def profile_reference() -> str:
    """Return every key of a device profile."""
    return _sections(Profile.model_json_schema(), conflicts, point, profile, scaling)


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


def _sections(schema: dict[str, Any], *modules: ModuleType) -> str:
    defs = schema.get("$defs", {})
    out, seen, todo, meanings = (
        [],
        set[str](),
        [("", schema)],
        _meanings(modules or (config_parts, config_models, config_bus)),
    )
    while todo:
        name, one = todo.pop(0)
        if name:
            out.append(f"\n### {name}\n\n{_sentence(one.get('description', ''))}\n\n")
        needed = one.get("required", [])
        rows = []
        for key, kind in one["properties"].items():
            refs = _refs(kind)
            rows.append((
                f"`{key}`",
                _words(kind, defs),
                _default(key, kind, needed),
                _sentence(meanings.get((one["title"], key), "")),
            ))
            todo += [(ref, defs[ref]) for ref in refs if ref not in seen and "properties" in defs[ref]]
            seen.update(refs)
        out.append(table(("key", "type", "default", "meaning"), rows))
    return "".join(out)


def _meanings(modules: Iterable[ModuleType]) -> dict[tuple[str, str], str]:
    """Return what stands under each field of the modules' models, by class and field; of two the later counts."""
    models = [
        one for module in modules for one in ast.parse(inspect.getsource(module)).body if isinstance(one, ast.ClassDef)
    ]
    out: dict[tuple[str, str], str] = {}
    for model in models:
        for field, under in pairwise(model.body):
            match field, under:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    out[model.name, name] = text
                case _:
                    pass
    return out


def _default(key: str, kind: dict[str, Any], needed: list[str]) -> str:
    value = kind.get("default")
    if key in needed:
        return "must be stated"
    if value is None or isinstance(value, dict) or value == []:
        return "none"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value).lower()


def _words(kind: dict[str, Any], defs: dict[str, Any]) -> str:
    if "$ref" in kind:
        name = kind["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})" if "properties" in defs[name] else in_words(defs[name])
    if "anyOf" in kind:
        return " or ".join(words for one in kind["anyOf"] if one.get("type") != "null" and (words := _words(one, defs)))
    if kind.get("type") == "array" and isinstance(kind.get("items"), dict):
        return f"list of {_words(kind['items'], defs)}"
    if kind.get("type") == "object" and isinstance(kind.get("additionalProperties"), dict):
        return f"by name: {_words(kind['additionalProperties'], defs)}"
    for one in kind.get("patternProperties", {}).values():
        return f"by name: {_words(one, defs)}"
    return in_words(kind)


def _refs(kind: Any) -> list[str]:
    if isinstance(kind, dict):
        own = [kind["$ref"].rpartition("/")[2]] if "$ref" in kind else []
        return own + [ref for value in kind.values() for ref in _refs(value)]
    return [ref for value in kind for ref in _refs(value)] if isinstance(kind, list) else []


def _sentence(text: str) -> str:
    return " ".join(text.replace("``", "`").split())

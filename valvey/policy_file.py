"""The leak policy's file: rules in YAML, with the line of every fault."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field

from fieldkit.config_draft import Draft
from fieldkit.errors import nearest
from fieldkit.model import Model
from valvey.core.policy import Action, PolicyRule

TRAYS = "TRAY-*"
"""Stands for all trays of a rack."""
RuleName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,40}$")]


class Rule(Model):
    """One rule as it is written."""

    name: RuleName
    detectors: Annotated[tuple[str, ...], Field(min_length=1)]
    """Tags of detectors, ``TRAY-<name>``, or ``TRAY-*`` for all trays of the rack."""
    action: Action
    persist_s: Annotated[float, Field(ge=0, le=86400)] | Literal["at_once"] | None = None
    """How long it must be so; left out = the hold of SIF-1."""
    count: Annotated[int, Field(ge=1, le=100)] = 1
    """How many of the detectors have to be wet together."""
    second_symptom: bool = False
    """Only with another sign: another detector, or supply and return flow apart."""


class PolicyFile(Model):
    """A leak policy."""

    policy: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,40}$")]
    """Also the file's name."""
    rules: Annotated[tuple[Rule, ...], Field(min_length=1)]


NEUTRAL = {"policy": "policy"}


def rules_of(
    draft: Draft[PolicyFile], detectors: Iterable[str], *, hold_s: float, fast_s: float
) -> tuple[PolicyRule, ...]:
    """Return the rules for a rack that has ``detectors``; what is wrong is added to the draft.

    hold_s  persistence of a rule that states none
    fast_s  period of the safety logic: no persistence is shorter than two of it
    """
    known, seen = tuple(detectors), set[str]()
    trays = tuple(name for name in known if name.startswith("TRAY-"))
    out: list[PolicyRule] = []
    for index, rule in enumerate(draft.model.rules):
        at = ("rules", index)
        if rule.name in seen:
            draft.add((*at, "name"), f"two rules are called {rule.name}", "each name once")
        seen.add(rule.name)
        names: list[str] = []
        for name in rule.detectors:
            if name == TRAYS and trays:
                names += trays
            elif name in known:
                names.append(name)
            else:
                draft.add(
                    (*at, "detectors"),
                    f"rule {rule.name} names no detector of this rack: {name}",
                    ", ".join(known) or "none: the rack has no detector",
                    nearest(name, known),
                )
        names = list(dict.fromkeys(names))
        if names and rule.count > len(names):
            draft.add((*at, "count"), f"{rule.count} of {len(names)} detectors can never be wet", f"1..{len(names)}")
        persist_s = hold_s if rule.persist_s is None else 0.0 if rule.persist_s == "at_once" else rule.persist_s
        if rule.persist_s != "at_once" and persist_s < 2.0 * fast_s:
            draft.add(
                (*at, "persist_s"),
                f"{persist_s:g} s is shorter than two fast scans",
                f"at least {2.0 * fast_s:g}, or at_once",
            )
        if names:
            out.append(PolicyRule(rule.name, tuple(names), rule.action, persist_s, rule.count, rule.second_symptom))
    return tuple(out)

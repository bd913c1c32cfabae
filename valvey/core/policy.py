"""The leak policy: what each evidence of liquid does (SAFETY §8). Rules are one site's data."""

from dataclasses import dataclass
from enum import StrEnum


class Action(StrEnum):
    """What a rule does when it holds, from least to most."""

    SHADOW = "shadow"
    ALARM = "alarm"
    DARK = "dark"
    ISOLATE = "isolate"
    ESD = "esd"


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """One rule: ``count`` of ``detectors`` wet for ``persist_s`` (0.0 = at once) does ``action``.

    second_symptom  only together with another sign of a leak: another detector, or supply and return flow apart
    """

    name: str
    detectors: tuple[str, ...]
    action: Action
    persist_s: float
    count: int = 1
    second_symptom: bool = False


#: Used when a configuration names no policy file; the shipped example says the same.
DEFAULT_POLICY: tuple[PolicyRule, ...] = (
    PolicyRule("rack-detector-wet", ("LDT-101", "LDT-102"), Action.ISOLATE, 0.5),
    PolicyRule("floor-rope-wet", ("LDT-103",), Action.ISOLATE, 60.0),
    PolicyRule("floor-rope-and-second-symptom", ("LDT-103",), Action.ISOLATE, 0.5, second_symptom=True),
)

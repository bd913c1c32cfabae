"""What one step has to tell, in the past tense. The shell turns facts into MQTT, journal and log."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class FactKind(StrEnum):
    ANSWER = "answer"
    ENDED = "ended"
    ALARM = "alarm"
    CAUSE = "cause"
    """A cause of bad health came."""
    CAUSE_GONE = "cause_gone"
    POWER = "power"
    """The power sequence went on to another phase."""
    OUTPUT = "output"
    """An output was demanded on or off."""
    CAP = "cap"
    SHED = "shed"
    RESTORED = "restored"
    SECOND_TRIP_PATH = "second_trip_path"
    RESET = "reset"
    MAINTENANCE = "maintenance"
    LIFECYCLE = "lifecycle"
    EVIDENCE = "leak_evidence"


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that happened in a step."""

    kind: FactKind
    at_s: float
    fields: Mapping[str, Any]

"""Facts: what one scan has to tell, in the past tense. The shell turns them into MQTT, journal and log."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class FactKind(StrEnum):
    TRIP = "trip"
    WOULD_TRIP = "would_trip"
    TRANSITION = "transition"
    ANSWER = "answer"
    ENDED = "ended"
    PROGRESS = "progress"
    RESET = "reset"
    LOCK = "lock"
    UNLOCK = "unlock"
    BYPASS = "bypass"
    UNBYPASS = "unbypass"
    BYPASS_ENDING = "bypass_ending"
    ALARM = "alarm"
    POWER_CAP = "power_cap"
    SECOND_TRIP_PATH = "second_trip_path"
    LOOP_EVENT = "loop_event"
    DISARMED = "disarmed"
    COMMISSIONED = "commissioned"
    EVIDENCE = "leak_evidence"
    SET_POINT = "set_point"
    STROKE = "stroke"
    LEASE = "lease"
    UNCOORDINATED = "uncoordinated"


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that happened in a scan."""

    kind: FactKind
    at_s: float
    fields: Mapping[str, Any]

"""What one step of the coordinator has to tell, in the past tense."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class LoopFactKind(StrEnum):
    GRANTED = "lease_granted"
    ADOPTED = "lease_adopted"
    REFUSED = "lease_refused"
    GIVEN_BACK = "lease_given_back"
    LAPSED = "lease_lapsed"
    REVOKED = "lease_revoked"
    EPOCH = "epoch_raised"
    SERVING = "serving"
    EVENT = "loop_event"
    RESET = "loop_event_reset"
    HOLD = "set_point_held"
    RELEASED = "set_point_released"
    TAKEN_BACK = "set_point_changed_by_others"
    SUPPLY_RAISED = "supply_raised"
    SUPPLY_HOME = "supply_home"
    SHORT = "flow_short"
    ENOUGH = "flow_enough"
    SUMP = "sump_emptied"
    STOP = "pump_stop_begun"
    ASKED = "rack_asked"
    REACHED = "rack_reached"
    ALARM = "alarm"
    ANSWER = "answer"
    ENDED = "request_ended"


@dataclass(frozen=True, slots=True)
class LoopFact:
    """One thing that happened in a step."""

    kind: LoopFactKind
    at_s: float
    fields: Mapping[str, Any]

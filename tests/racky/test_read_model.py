"""What everybody reads of a rack, and when it is told anew."""

from racky.core.causes import NOT_JUDGED
from racky.core.lifecycle_progress import Progress
from racky.core.memory import Memory
from racky.core.setup import Setup
from racky.read_model import document
from racky.sender import state_key
from tests.racky.core.plans import on_paper

MEMORY = Memory(boot_id="b")


def test_how_far_a_run_is_stands_with_the_lifecycle() -> None:
    told = document(MEMORY, NOT_JUDGED, on_paper(), lambda at_s: at_s, Progress(41.2, 300.0))["lifecycle"]
    assert isinstance(told, dict)
    assert told["progress"] == {"percent": 41.2, "eta_s": 300.0}


def test_without_a_run_there_is_no_progress_and_without_a_plan_no_lifecycle() -> None:
    told = document(MEMORY, NOT_JUDGED, on_paper(), lambda at_s: at_s)["lifecycle"]
    assert isinstance(told, dict)
    assert told["progress"] is None
    assert document(MEMORY, NOT_JUDGED, Setup("r01"), lambda at_s: at_s)["lifecycle"] is None


def test_a_run_is_told_anew_each_percent() -> None:
    at = {percent: state_key(MEMORY, NOT_JUDGED, Progress(percent, 1.0)) for percent in (41.2, 41.9, 42.0)}
    assert at[41.2] == at[41.9] != at[42.0]
    assert state_key(MEMORY, NOT_JUDGED) != at[42.0]

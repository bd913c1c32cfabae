"""The names of failures: each used somewhere, each explained to people, in the alarm and in the runbook."""

from pathlib import Path

import pytest

from valvey.core.alarm_rows import WORK_FAILED, row_of, slug
from valvey.core.failures import FAILURES
from valvey.core.procedures import STEPS

RUNBOOK = Path(__file__).parents[3] / "docs" / "operations" / "runbooks.md"


def test_every_failure_of_a_step_has_a_name_that_is_explained_and_none_is_idle() -> None:
    used = {fail.name for row in STEPS for fail in row.fails} | {row.late for row in STEPS}
    assert used | {"drain_open", "lease_lost", "key_turned"} == set(FAILURES)


@pytest.mark.parametrize("name", FAILURES)
def test_the_alarm_of_a_failure_says_what_it_means_and_the_runbook_what_to_do(name: str) -> None:
    row = row_of(f"{WORK_FAILED}{slug(name)}")
    assert row is not None
    assert row.cause == FAILURES[name]
    page = RUNBOOK.read_text(encoding="utf-8")
    section = page.split("\n## work-failed\n")[1].split("\n## ")[0]
    assert f"`{slug(name)}`" in section


def test_a_failure_of_another_version_keeps_the_general_cause() -> None:
    row = row_of(f"{WORK_FAILED}tomorrow")
    assert row is not None
    assert row.cause.startswith("planned work on the rack was given up")

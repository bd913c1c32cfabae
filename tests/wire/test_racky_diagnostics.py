"""The site's own commands: they pass, fail, take too long, do not exist, and end when nobody wants them."""

import asyncio

from racky.core.life import Run, RunStatus
from racky.diagnostics import Diagnostics

SLEEPS = ("/bin/sh", "-c", "echo begun; sleep 60")


async def ended(diagnostics: Diagnostics, run: Run) -> RunStatus:
    diagnostics.want([run])
    async with asyncio.timeout(10.0):
        while diagnostics.told[run.key].status is RunStatus.RUNNING:  # ruff: ignore[async-busy-wait] - a process has no event
            await asyncio.sleep(0.01)
    return diagnostics.told[run.key].status


async def test_the_exit_code_decides_and_the_last_line_is_kept() -> None:
    one = Diagnostics({"good": ("/bin/sh", "-c", "echo a; echo fine"), "bad": ("/bin/sh", "-c", "echo no >&2; exit 3")})
    assert await ended(one, Run("1", "good", 10.0)) is RunStatus.PASSED
    assert one.told["1"].detail == "fine"
    assert await ended(one, Run("2", "bad", 10.0)) is RunStatus.FAILED
    assert one.told["2"].detail == "no"
    await one.close()


async def test_what_does_not_end_in_time_is_ended_with_all_it_started() -> None:
    one = Diagnostics({"slow": SLEEPS})
    assert await ended(one, Run("1", "slow", 0.2)) is RunStatus.TIMEOUT
    assert "begun" in one.told["1"].detail
    await one.close()


async def test_what_does_not_exist_has_failed() -> None:
    one = Diagnostics({"gone": ("/no/such/command",)})
    assert await ended(one, Run("1", "gone", 1.0)) is RunStatus.FAILED
    assert await ended(one, Run("2", "never configured", 1.0)) is RunStatus.FAILED
    await one.close()


async def test_a_run_that_nobody_wants_any_more_is_ended() -> None:
    one = Diagnostics({"load": SLEEPS})
    one.want([Run("1", "load", 60.0)])
    await asyncio.sleep(0.05)
    one.want([])
    async with asyncio.timeout(5.0):
        await one.close()

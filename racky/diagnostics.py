"""The site's own diagnostics as child processes: begun when the lifecycle wants them, ended at their time or when it does not."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterable, Mapping, Sequence

from racky.core.life import Run, RunStatus, RunTold

GRACE_S = 2.0
MOST_DETAIL = 200
MOST_LINE_BYTES = 65_536
MOST_KEPT = 64


class Diagnostics:
    """Runs commands.

    commands  by id of the diagnostic: what is executed, without a shell
    told      how each run stands, by its key
    speed     how much faster time runs, on a bench
    """

    def __init__(self, commands: Mapping[str, Sequence[str]], speed: float = 1.0) -> None:
        self.told: dict[str, RunTold] = {}
        self._commands, self._speed = commands, speed
        self._running: dict[str, asyncio.Task[None]] = {}

    def want(self, runs: Iterable[Run]) -> None:
        """Begin what is wanted and was not begun; end what is wanted no more."""
        wanted = {run.key: run for run in runs}
        for key, task in list(self._running.items()):
            if key not in wanted:
                _cancel(task)
        for key, run in wanted.items():
            if key not in self.told:
                self.told[key] = RunTold(key, RunStatus.RUNNING)
                self._running[key] = task = asyncio.create_task(self._run(run))
                task.add_done_callback(lambda _task, key=key: self._running.pop(key, None))  # type: ignore[misc]
        for key in [key for key in self.told if key not in wanted and key not in self._running][:-MOST_KEPT]:
            del self.told[key]

    async def close(self) -> None:
        tasks = list(self._running.values())
        for task in tasks:
            _cancel(task)
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, run: Run) -> None:
        command = self._commands.get(run.diagnostic)
        if command is None:
            self.told[run.key] = RunTold(run.key, RunStatus.FAILED, f"no command is configured for {run.diagnostic}")
            return
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,  # what it starts ends with it
                limit=MOST_LINE_BYTES,
            )
        except OSError as error:
            self.told[run.key] = RunTold(run.key, RunStatus.FAILED, f"{command[0]}: {error.strerror}")
            return
        try:
            self.told[run.key] = await self._outcome(process, run)
        finally:
            await _end(process)

    async def _outcome(self, process: asyncio.subprocess.Process, run: Run) -> RunTold:
        last = ""

        async def to_its_end() -> int:
            nonlocal last
            assert process.stdout is not None  # ruff: ignore[assert] - it was asked for
            while chunk := await process.stdout.read(MOST_LINE_BYTES):
                lines = chunk.decode(errors="replace").strip().splitlines()
                last = lines[-1] if lines else last
            return await process.wait()

        try:
            async with asyncio.timeout(run.timeout_s / self._speed):
                code = await to_its_end()
        except TimeoutError:
            return RunTold(
                run.key, RunStatus.TIMEOUT, f"did not end in {run.timeout_s:g} s; {_short(last)}".rstrip("; ")
            )
        status = RunStatus.PASSED if code == 0 else RunStatus.FAILED
        return RunTold(run.key, status, _short(last) or f"exit code {code}")


def _cancel(task: asyncio.Task[None]) -> None:
    """Once: a second time would cut short what ends the process."""
    if not task.cancelling():
        task.cancel()


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a process and all that it started: asked first, then killed."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE_S):
                await process.wait()


def _short(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)[:MOST_DETAIL]

"""Named tasks whose death is noticed; at the end none is left behind."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

Work = Callable[[], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class Death:
    """The end of a task that should have gone on. ``error`` is None when it simply returned."""

    name: str
    error: BaseException | None
    restarts_in_s: float | None

    def __str__(self) -> str:
        cause = "returned" if self.error is None else f"{type(self.error).__name__}: {self.error}"
        then = "" if self.restarts_in_s is None else f"; restarts in {self.restarts_in_s:g} s"
        return f"task {self.name} ended ({cause}){then}"


class EssentialTaskError(RuntimeError):
    """A task without which the process must not go on has ended."""


class Supervisor:
    """Runs tasks for ever. A helper that dies is told and restarted; an essential one ends ``wait``."""

    def __init__(self, on_death: Callable[[Death], None]) -> None:
        self._on_death = on_death
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._fatal: asyncio.Future[Death] | None = None

    def start_essential(self, name: str, work: Work) -> None:
        """Start a task whose end, by exception or return, is the end of the process."""
        self._start(name, work, None)

    def start_helper(self, name: str, work: Work, *, restart_s: float = 5.0) -> None:
        """Start a task that is started again ``restart_s`` seconds after it ended."""
        if restart_s <= 0.0:
            raise ValueError(f"{name}: restart_s must be above 0 s, not {restart_s}: a task that fails would spin")
        self._start(name, work, restart_s)

    def alive(self) -> dict[str, bool]:
        """Which of the tasks runs; a helper that waits for its restart counts as dead."""
        return {name: not task.done() and task.get_name() == name for name, task in self._tasks.items()}

    async def wait(self) -> None:
        """Return never; raise EssentialTaskError from the exception of the first essential task that ends."""
        death = await self._fatal_future()
        raise EssentialTaskError(str(death)) from death.error

    async def stop(self, grace_s: float = 1.0) -> list[str]:
        """Cancel all and wait for them, bounded; return the names of those that would not end."""
        running = {name: task for name, task in self._tasks.items() if not task.done()}
        self._tasks.clear()
        for task in running.values():
            task.cancel()
        if not running:
            return []
        await asyncio.wait(running.values(), timeout=grace_s)
        return [name for name, task in running.items() if not task.done()]

    def _fatal_future(self) -> asyncio.Future[Death]:
        if self._fatal is None:
            self._fatal = asyncio.get_running_loop().create_future()
        return self._fatal

    def _start(self, name: str, work: Work, restart_s: float | None) -> None:
        if name in self._tasks and not self._tasks[name].done():
            raise ValueError(f"a task named {name} runs already")
        task = asyncio.get_running_loop().create_task(work(), name=name)
        self._tasks[name] = task
        task.add_done_callback(lambda ended: self._ended(ended, work, restart_s))

    def _ended(self, task: asyncio.Task[None], work: Work, restart_s: float | None) -> None:
        name = task.get_name()
        error = None if task.cancelled() else task.exception()
        if self._tasks.get(name) is not task:
            return  # stopped, not died
        death = Death(name, error, restart_s)
        self._on_death(death)
        if restart_s is None:
            fatal = self._fatal_future()
            if not fatal.done():
                fatal.set_result(death)
            return
        again = asyncio.get_running_loop().create_task(asyncio.sleep(restart_s), name=f"{name} waits")
        self._tasks[name] = again
        again.add_done_callback(lambda waited: self._again(waited, name, work, restart_s))

    def _again(self, waited: asyncio.Task[None], name: str, work: Work, restart_s: float) -> None:
        if self._tasks.get(name) is waited and not waited.cancelled():
            self._start(name, work, restart_s)

"""Everything a rack's devices say, read all the time by Valvey's own reader (`valvey field`): for tests and for plots."""

import asyncio
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Self, TypeVar

from fieldkit.wallclock import BootClock
from valvey.config import RackConfig
from valvey.reader import run_reads

T = TypeVar("T")
MOST = 200_000
"""Values of one tag that are kept, an hour and more at 50 scans a second."""


class Sample(NamedTuple):
    """A tag at a time (CLOCK_BOOTTIME); ``value`` is None unless GOOD."""

    at_s: float
    value: float | None
    reason: str | None


class WatchError(AssertionError):
    """What was waited for did not come; the message says what was, and how it stood at the end."""


class _Stop(Exception):  # ruff: ignore[error-suffix-on-exception-name] - no error: how a reader is told to end
    pass


class Watch:
    """Use it as ``with Watch(config) as watch``. Reads only; it has connections of its own."""

    def __init__(self, config: RackConfig) -> None:
        self._config = config
        self._samples: dict[str, list[Sample]] = {tag: [] for tag in config.inputs}
        self._units: dict[str, str] = {}
        self._news = threading.Condition()
        self._stop = threading.Event()
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(10.0)

    @staticmethod
    def now_s() -> float:
        return BootClock().now_s()

    def latest(self, tag: str) -> Sample:
        """The newest sample; a tag that was never read has none yet and says so."""
        samples = self._samples[tag]
        return samples[-1] if samples else Sample(0.0, None, "never_read")

    def since(self, tag: str, after_s: float) -> list[Sample]:
        samples = self._samples[tag]
        return samples[bisect_left(samples, after_s, key=lambda one: one.at_s) :]

    def first(self, tag: str, value: float, after_s: float) -> float | None:
        """When the tag first showed ``value`` after a time; None when it has not."""
        return next((one.at_s for one in self.since(tag, after_s) if one.value == value), None)

    def holds(self, wanted: dict[str, float]) -> list[str]:
        """Return which of these tags does not show what it should, in words."""
        return [
            f"{tag} is {'BAD: ' + str(one.reason) if one.value is None else f'{one.value:g}'}, not {value:g}"
            for tag, value in wanted.items()
            if tag in self._samples and (one := self.latest(tag)).value != value
        ]

    def unread(self) -> list[str]:
        """Every configured point that does not read GOOD now, in words."""
        return [f"{tag} is BAD: {one.reason}" for tag in self._samples if (one := self.latest(tag)).value is None]

    def wait(self, sought: Callable[[], T | None], within_s: float, failure: str) -> T:
        """Wait until ``sought`` returns something, looking after each scan. Raises WatchError."""
        until_s = self.now_s() + within_s
        with self._news:
            while (found := sought()) is None:
                left_s = until_s - self.now_s()
                if self._failed is not None:
                    raise WatchError(f"the reader ended: {self._failed}")
                if left_s <= 0.0:
                    raise WatchError(f"{failure} within {within_s:g} s")
                self._news.wait(min(left_s, 0.1))
        return found

    def wait_for(self, tag: str, value: float, after_s: float, within_s: float) -> float:
        """Wait until a tag shows ``value`` after a time; return when."""
        return self.wait(
            lambda: self.first(tag, value, after_s), within_s, f"{tag} is {self.latest(tag)}; {value:g} did not come"
        )

    def curves(self, tags: Iterable[str], begun_s: float, ended_s: float, points: int = 500) -> Any:
        """Return (times from 0, {tag: values}) on even steps, for plots; a BAD stretch keeps the last number."""
        step_s = max((ended_s - begun_s) / points, 0.005)
        times = [n * step_s for n in range(int((ended_s - begun_s) / step_s) + 1)]
        return times, {tag: self._held(tag, [begun_s + at_s for at_s in times]) for tag in tags}

    def _held(self, tag: str, times: list[float]) -> list[float]:
        good = [one for one in self._samples[tag] if one.value is not None]
        out, at = list[float](), 0
        for when in times:
            while at + 1 < len(good) and good[at + 1].at_s <= when:
                at += 1
            out.append(good[at].value or 0.0 if good else 0.0)
        return out

    def changed(self, begun_s: float) -> list[str]:
        """The two-valued tags that changed since, in the order of their first change."""
        found = []
        for tag in self._samples:
            values = [one for one in self.since(tag, begun_s) if one.value is not None]
            if values and {one.value for one in values} == {0.0, 1.0}:
                found.append((next(one.at_s for one in values if one.value != values[0].value), tag))
        return [tag for _, tag in sorted(found)]

    # -- the thread -------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            asyncio.run(run_reads(self._config, None, self._show))
        except _Stop:
            pass
        except BaseException as error:  # told to whoever waits
            self._failed = error

    def _show(self, rows: list[dict[str, Any]]) -> None:
        if self._stop.is_set():
            raise _Stop
        with self._news:
            for row in rows:
                good = row["quality"] == "GOOD"
                samples = self._samples[row["tag"]]
                samples.append(Sample(row["t_mono_s"], row["value"] if good else None, row["reason"]))
                if len(samples) > MOST:
                    del samples[: MOST // 2]
            self._news.notify_all()

"""What the demo shows while it runs: a live table of the racks, and the story line by line."""

import time
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from bench.demo.asking import Progress
from bench.demo.listener import Listener, News

_COLOURS = {
    "FLOWING": "green",
    "ISOLATED": "cyan",
    "ISOLATING": "yellow",
    "COOLDOWN": "yellow",
    "UNLOADING": "yellow",
    "DRAINING": "magenta",
    "DRAINED": "blue",
    "FILLING": "magenta",
    "TESTING": "magenta",
    "OPENING": "yellow",
    "STARTUP": "white",
    "ESD": "red",
}
STORY_LINES = 14
PERCENT_LINES = 20.0
"""Without a terminal, progress is a line each so many percent and at each step."""


class Screen:
    """A live view on a terminal; plain lines where there is none."""

    def __init__(self, console: Console, banner: str, speed: float) -> None:
        self.console, self._banner, self._speed = console, banner, speed
        self._story: list[tuple[float, str, str]] = []
        self._progress: Progress | None = None
        self._began_s = time.monotonic()
        self._live: Live | None = None

    def __enter__(self) -> "Screen":
        if self.console.is_terminal:
            self._live = Live(console=self.console, refresh_per_second=8, transient=True)
            self._live.__enter__()
        return self

    def __exit__(self, *_error: object) -> None:
        if self._live is not None:
            self._live.__exit__(None, None, None)
            self._live = None

    def say(self, text: str, style: str = "bold") -> None:
        """One line of the story, with the seconds since the act began."""
        at_s = time.monotonic() - self._began_s
        self._story.append((at_s, text, style))
        if self._live is None:
            self.console.print(Text(f"{at_s:6.1f} s  {text}", style=style))

    def progress(self, now: Progress | None) -> None:
        """Show how far a request is on its way, until the next one; None: nothing is under way."""
        before, self._progress = self._progress, now
        if self._live is not None or now is None:
            return
        step = before is None or (before.request, before.step) != (now.request, now.step)
        if step or int(now.percent / PERCENT_LINES) != int(before.percent / PERCENT_LINES if before else -1):
            self.say(progress_text(now, self._speed), "dim")

    def show(self, bus: Listener) -> None:
        if self._live is not None:
            story = [Text(f"{at_s:6.1f} s  {text}", style=style) for at_s, text, style in self._story[-STORY_LINES:]]
            table = rack_table(bus, self._speed)
            self._live.update(Group(Text(self._banner, style="bold magenta"), table, *self._bar(), *story))

    def _bar(self) -> list[Text | ProgressBar]:
        now = self._progress
        if now is None:
            return []
        return [Text(progress_text(now, self._speed), style="bold"), ProgressBar(100.0, now.percent, width=60)]


def progress_text(now: Progress, speed: float) -> str:
    """Percent, time left and step of a request on its way."""
    left = "" if now.eta_s is None else f", {now.eta_s:.0f} s left"
    if left and speed != 1.0:
        left += f" ({now.eta_s / speed:.0f} s at SPEED {speed:g})" if now.eta_s is not None else ""
    return f"{now.rack}  {now.request}: {now.percent:.0f} %{left}, step {now.step}"


def shown_speed(speed: float) -> str:
    """What every surface says of time."""
    return "SIMULATED" if speed == 1.0 else f"SIMULATED, SPEED {speed:g}"


def rack_table(bus: Listener, speed: float) -> Table:
    """The racks as they say they are."""
    table = Table(
        "rack",
        "state",
        "permit",
        "flow L/min",
        "supply °C",
        "return °C",
        "power kW",
        "first-out",
        "alarms",
        title=f"racks ({shown_speed(speed)})",
    )
    for name in sorted(bus.racks):
        table.add_row(name, *_row(bus.racks[name]))
    return table


def _row(news: News) -> list[Text]:
    state = news.state.get("state", "-")
    latches = news.state.get("latches", [])
    standing = [one for one in news.alarms.values() if one["active"]]
    step = news.state.get("step") or ""
    return [
        Text(f"{state} {step}".strip(), style=_COLOURS.get(state, "")),
        Text({1.0: "on", 0.0: "off"}.get(_value(news, "XI-101") or 0.0, "?")),
        _cell(news, "FT-101"), _cell(news, "TT-101"), _cell(news, "TT-102A"), _cell(news, "JT-101"),
        Text(latches[0]["sif"] if latches else "", style="bold red"),
        Text(str(len(standing)) if standing else "", style="red"),
    ]  # fmt: skip


def _value(news: News, tag: str) -> float | None:
    point: dict[str, Any] = news.points.get(tag, {})
    value = point.get("value")
    return None if value is None else float(value)


def _cell(news: News, tag: str) -> Text:
    value = _value(news, tag)
    quality = news.points.get(tag, {}).get("quality", "")
    if value is None:
        return Text(quality or "-", style="red")
    return Text(f"{value:.1f}", style="" if quality == "GOOD" else "yellow", justify="right")

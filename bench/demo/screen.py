"""What the demo shows while it runs: a live table of the racks, and the story line by line."""

from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from bench.demo.listener import Listener, RackNews

_COLOURS = {
    "FLOWING": "green",
    "ISOLATED": "cyan",
    "ISOLATING": "yellow",
    "COOLDOWN": "yellow",
    "STARTUP": "white",
    "ESD": "red",
}
STORY_LINES = 14


class Screen:
    """A live view on a terminal; plain lines where there is none."""

    def __init__(self, console: Console, banner: str) -> None:
        self.console, self._banner = console, banner
        self._story: list[tuple[float, str, str]] = []
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

    def say(self, at_s: float, text: str, style: str = "") -> None:
        """One line of the story, ``at_s`` seconds after the demo's start."""
        self._story.append((at_s, text, style))
        if self._live is None:
            self.console.print(Text(f"{at_s:6.1f} s  {text}", style=style))

    def show(self, bus: Listener) -> None:
        if self._live is not None:
            story = [Text(f"{at_s:6.1f} s  {text}", style=style) for at_s, text, style in self._story[-STORY_LINES:]]
            self._live.update(Group(Text(self._banner, style="bold magenta"), rack_table(bus), *story))


def rack_table(bus: Listener) -> Table:
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
        title="racks (SIMULATED)",
    )
    for name in sorted(bus.racks):
        table.add_row(name, *_row(bus.racks[name]))
    return table


def _row(news: RackNews) -> list[Text]:
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


def _value(news: RackNews, tag: str) -> float | None:
    point: dict[str, Any] = news.points.get(tag, {})
    value = point.get("value")
    return None if value is None else float(value)


def _cell(news: RackNews, tag: str) -> Text:
    value = _value(news, tag)
    quality = news.points.get(tag, {}).get("quality", "")
    if value is None:
        return Text(quality or "-", style="red")
    return Text(f"{value:.1f}", style="" if quality == "GOOD" else "yellow", justify="right")

"""Line plots as plain SVG: no script, no font from elsewhere, readable in a browser and on a project page."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#f0e442")
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 96, 30, 34


@dataclass(frozen=True, slots=True)
class Line:
    """One curve: its name, its values at the plot's times, its colour."""

    name: str
    values: Sequence[float]
    colour: str = COLOURS[0]


@dataclass(frozen=True, slots=True)
class Plot:
    """Curves over the same times, seconds."""

    title: str
    unit: str
    t_s: Sequence[float]
    lines: Sequence[Line]


def sheet(plots: Sequence[Plot], x_label: str, *, width: int = 860, height: int = 250) -> str:
    """Return an SVG document of plots, one below the other."""
    style = "font-family: sans-serif; font-size: 12px; fill: #222"
    whole = height * len(plots)
    drawn = "".join(_draw(one, x_label, width, height, n * height) for n, one in enumerate(plots))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {whole}" width="{width}" height="{whole}" style="{style}">'
        f'<rect width="{width}" height="{whole}" fill="white"/>{drawn}</svg>'
    )


def thinned(values: Sequence[float], most: int = 700) -> list[float]:
    """Every n-th value, so that no more than ``most`` are left: a curve needs no more points than a screen has."""
    return list(values[:: max(1, -(-len(values) // most))])


def _draw(plot: Plot, x_label: str, width: int, height: int, y: int) -> str:
    """Return a ``<g>`` of one plot, shifted down by ``y``; x axis in seconds."""
    title, unit, t_s, lines = plot.title, plot.unit, plot.t_s, plot.lines
    low = min(min(line.values) for line in lines)
    high = max(max(line.values) for line in lines)
    pad = 0.06 * (high - low) or 0.5
    low, high = 0.0 if 0.0 <= low < 0.5 * high else low - pad, high + pad
    span_s = max(t_s[-1] - t_s[0], 1e-9)

    def px(at_s: float) -> float:
        return _LEFT + (at_s - t_s[0]) / span_s * (width - _LEFT - _RIGHT)

    def py(value: float) -> float:
        return _TOP + (high - value) / (high - low) * (height - _TOP - _BOTTOM)

    parts = [f'<g transform="translate(0 {y})"><text x="{_LEFT}" y="18" font-weight="bold">{escape(title)}</text>']
    for tick in _ticks(low, high):
        parts.append(
            f'<line x1="{_LEFT}" x2="{width - _RIGHT}" y1="{py(tick):.1f}" y2="{py(tick):.1f}" stroke="#ddd"/>'
        )
        parts.append(f'<text x="{_LEFT - 6}" y="{py(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for tick in _ticks(t_s[0], t_s[-1]):
        parts.append(f'<text x="{px(tick):.1f}" y="{height - 16}" text-anchor="middle">{tick:g}</text>')
    parts.append(f'<text x="{width - _RIGHT}" y="{height - 3}" text-anchor="end">{escape(x_label)}</text>')
    parts.append(f'<text x="4" y="18">{escape(unit)}</text>')
    ends = _spread([py(line.values[-1]) for line in lines])
    for n, line in enumerate(lines):
        colour = line.colour
        points = " ".join(f"{px(at_s):.1f},{py(value):.1f}" for at_s, value in zip(t_s, line.values, strict=True))
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{points}"/>')
        parts.append(f'<text x="{width - _RIGHT + 6}" y="{ends[n] + 4:.1f}" fill="{colour}">{escape(line.name)}</text>')
    return "".join(parts) + "</g>"


def _ticks(low: float, high: float) -> list[float]:
    rough = (high - low) / 6.0
    power = 10.0 ** floor(log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough)
    return [round(n * step, 6) for n in range(ceil(low / step), floor(high / step) + 1)]


def _spread(wanted: list[float], gap: float = 14.0) -> list[float]:
    """Move labels apart so that none covers another, in their order."""
    placed: dict[int, float] = {}
    last = float("-inf")
    for n in sorted(range(len(wanted)), key=lambda i: wanted[i]):
        last = placed[n] = max(wanted[n], last + gap)
    return [placed[n] for n in range(len(wanted))]

"""What a run of the bench found, as one page that needs nothing but itself: no script, no picture and no style from elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from bench.demo.plots import Plot, sheet
from bench.hil.identity import Identity

_STYLE = (
    "body{font-family:sans-serif;margin:2em auto;max-width:62em;color:#222;line-height:1.4}"
    "table{border-collapse:collapse;margin:1em 0}td,th{border:1px solid #ccc;padding:.25em .6em;text-align:left;vertical-align:top}"
    ".passed{color:#007a3d}.failed,.error{color:#b00020;font-weight:bold}.skipped{color:#777}"
    "pre{white-space:pre-wrap;background:#f6f6f6;padding:.6em}.mark{background:#ffe9a8;padding:.1em .4em}"
)


@dataclass(frozen=True, slots=True)
class Fact:
    """Something measured: what, how much, and the bound that it was held against ("" = none)."""

    what: str
    value: str
    bound: str = ""


@dataclass(slots=True)
class Found:
    """One test's outcome."""

    name: str
    sentence: str
    outcome: str = "passed"
    duration_s: float = 0.0
    why: str = ""
    facts: list[Fact] = field(default_factory=list)
    plots: list[tuple[str, list[Plot]]] = field(default_factory=list)
    """Label of the x axis, and the plots above it."""


@dataclass(slots=True)
class Run:
    """A whole run. ``target``: sim or hil; ``about``: rows of the head, in order."""

    target: str
    about: dict[str, str] = field(default_factory=dict)
    devices: list[Identity] = field(default_factory=list)
    found: dict[str, Found] = field(default_factory=dict)

    @property
    def counts(self) -> str:
        outcomes = [one.outcome for one in self.found.values()]
        return ", ".join(f"{outcomes.count(name)} {name}" for name in dict.fromkeys(sorted(outcomes))) or "no tests ran"


def page(run: Run) -> str:
    """Return the page as HTML; every text in it is escaped."""
    where = "SIMULATED" if run.target == "sim" else "on hardware"
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>Bench, {escape(where)}: {escape(run.counts)}</title><style>{_STYLE}</style></head><body>",
        f'<h1>Bench report <span class="mark">{escape(where)}</span></h1><p>{escape(run.counts)}</p>',
        _table((), [(key, value) for key, value in run.about.items()]),
        "<h2>Devices</h2>",
        _table(
            ("bus", "address", "unit", "profile", "FC 0x2B/0x0E", "registers", "is what its profile says"),
            [
                (
                    one.bus,
                    one.way,
                    str(one.unit),
                    one.profile,
                    _pairs(one.objects),
                    _pairs(one.registers),
                    one.error or {True: "yes", False: "NO", None: "cannot be asked"}[one.fits],
                )
                for one in run.devices
            ],
        ),
        "<h2>Tests</h2>",
    ]
    parts += [_test(one) for one in run.found.values()]
    return "".join(parts) + "</body></html>\n"


def write(run: Run, out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page(run), encoding="utf-8")


def _test(one: Found) -> str:
    out = [
        f'<h3><span class="{escape(one.outcome)}">{escape(one.outcome)}</span> {escape(one.sentence)}</h3>',
        f"<p><code>{escape(one.name)}</code>, {one.duration_s:.1f} s</p>",
    ]
    if one.facts:
        out.append(_table(("measured", "value", "bound"), [(fact.what, fact.value, fact.bound) for fact in one.facts]))
    if one.why:
        out.append(f"<pre>{escape(one.why)}</pre>")
    out += [sheet(plots, label) for label, plots in one.plots if plots]
    return "".join(out)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return "<p>none</p>"
    top = "<tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in head) + "</tr>" if head else ""
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{top}{body}</table>"


def _pairs(values: dict[str, str]) -> str:
    return ", ".join(f"{key} {value}" for key, value in values.items()) or "-"

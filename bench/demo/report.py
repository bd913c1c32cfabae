"""The demo's result as tables on the terminal, report.json for programs, report.html and picture.svg for people."""

import json
import subprocess
from html import escape
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from rich.table import Table
from rich.text import Text

from bench.demo.claims import Claim
from bench.demo.leak import RACK, Outcome
from bench.demo.listener import Listener
from bench.demo.plots import COLOURS, Line, plot, sheet
from bench.demo.stage import ROOT, Stage


def write_reports(
    stage: Stage, bus: Listener, outcome: Outcome, claims: list[Claim], times: dict[str, float]
) -> dict[str, Any]:
    """Write all files into ``build/demo`` and return the document of report.json."""
    options = stage.options
    report: dict[str, Any] = {
        "schema": "demo-report/1",
        "simulated": True,
        "version": _version(),
        "commit": _commit(),
        "seed": options.seed,
        "broker": stage.broker.kind,
        "cdu_mode": options.mode,
        **times,
        "acts": [outcome.act],
        "messages": {"published": bus.published, "observed": bus.observed, "invalid": bus.invalid},
        "claims": [claim.document() for claim in claims],
        "ok": all(claim.ok for claim in claims),
    }
    picture = _picture(outcome)
    (options.out / "picture.svg").write_text(picture, encoding="utf-8")
    if options.picture is not None:
        options.picture.write_text(picture, encoding="utf-8")
    (options.out / "report.json").write_text(json.dumps(report, indent=1), encoding="utf-8")
    (options.out / "report.html").write_text(_page(report, outcome, picture), encoding="utf-8")
    return report


def _version() -> str:
    try:
        return version("racky-valvey")
    except PackageNotFoundError:
        return "unknown"


def _commit() -> str:
    try:
        done = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, timeout=5, check=False
        )
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def _picture(outcome: Outcome) -> str:
    trace = outcome.trace
    colours = dict(zip(sorted(trace.flow_lpm), COLOURS, strict=False))
    flows = [
        Line(f"{name} (leaks)" if name == RACK else name, trace.flow_lpm[name], colour)
        for name, colour in colours.items()
    ]
    change = [
        Line(name, [100.0 * (flow / trace.flow_lpm[name][0] - 1.0) for flow in trace.flow_lpm[name]], colour)
        for name, colour in colours.items()
        if name != RACK
    ]
    title = f"SIMULATED: a 3 mm hole in the manifold of {RACK}; its supply flow stops, its neighbours' goes on"
    return sheet([
        plot(title, "L/min", trace.t_s, flows),
        plot("the same neighbours, change of flow", "%", trace.t_s, change, y=250),
        plot(f"coolant lost by {RACK}", "L", trace.t_s, [Line("spilled", trace.spilled_l, colours[RACK])], y=500),
    ])


def neighbour_table(report: dict[str, Any]) -> Table:
    table = Table(
        "neighbour",
        "kW",
        "flow before",
        "worst %",
        "settled %",
        "predicted %",
        "trips",
        "alarms",
        title=f"while {RACK} was isolated (SIMULATED)",
    )
    for one in report["acts"][0]["neighbours"]:
        table.add_row(
            one["rack"], f"{one['power_kw']:.0f}", f"{one['flow_before_lpm']:.1f}", f"{one['worst_deviation_pct']:+.2f}",
            f"{one['settled_deviation_pct']:+.2f}", f"{one['predicted_pct']:+.2f}", str(one["trips"]), str(one["alarms"]),
        )  # fmt: skip
    return table


def claim_table(report: dict[str, Any]) -> Table:
    table = Table("claim", "what", "measured", "limit", "", title="claims")
    for one in report["claims"]:
        mark = Text("holds", style="green") if one["ok"] else Text("FAILS", style="bold red")
        table.add_row(
            one["id"],
            one["text"],
            f"{_number(one['measured'])} {one['unit']}",
            f"{one['op']} {_number(one['limit'])}",
            mark,
        )
    return table


def _number(value: float) -> str:
    return "never" if value >= 1e9 else f"{value:.3f}".rstrip("0").rstrip(".")


_STYLE = """body{font:16px/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}
table{border-collapse:collapse;margin:1rem 0;width:100%}th,td{border-bottom:1px solid #ccc;padding:.3rem .6rem;text-align:left;vertical-align:top}
td.n{text-align:right;font-variant-numeric:tabular-nums}.ok{color:#06733d}.bad{color:#b00020;font-weight:bold}
.sim{background:#fde8ff;border:2px solid #a0a;padding:.4rem .8rem;font-weight:bold}svg{max-width:100%;height:auto}"""


def _page(report: dict[str, Any], outcome: Outcome, picture: str) -> str:
    act = report["acts"][0]
    verdict = "Every claim holds." if report["ok"] else "Not every claim holds."
    head = f"CDU in {report['cdu_mode']}, broker {report['broker']}, seed {report['seed']}, version {report['version']} at {report['commit']}"
    story = _html_table(
        ["s after the leak bit", "what the simulator saw"], [[f"{at_s:.3f}", text] for at_s, text in outcome.timeline]
    )
    neighbours = _html_table(
        ["neighbour", "kW", "flow before L/min", "worst %", "settled %", "predicted %", "trips", "alarms"],
        [
            [one["rack"], f"{one['power_kw']:.0f}", f"{one['flow_before_lpm']:.1f}", f"{one['worst_deviation_pct']:+.2f}", f"{one['settled_deviation_pct']:+.2f}", f"{one['predicted_pct']:+.2f}", str(one["trips"]), str(one["alarms"])]
            for one in act["neighbours"]
        ],
    )  # fmt: skip
    claims = _html_table(
        ["claim", "what", "measured", "limit", ""],
        [
            [
                one["id"],
                one["text"],
                f"{_number(one['measured'])} {one['unit']}",
                f"{one['op']} {_number(one['limit'])}",
                "holds" if one["ok"] else "FAILS",
            ]
            for one in report["claims"]
        ],
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Demo: a leak in {RACK}</title><style>{_STYLE}</style>"
        '<p class="sim">SIMULATED: no real rack, no real coolant.</p>'
        f"<h1>A {act['hole_mm']:g} mm leak in {RACK}</h1>"
        f'<p class="{"ok" if report["ok"] else "bad"}">{verdict}</p><p>{escape(head)}</p>'
        f"{picture}<h2>What happened</h2><p>First-out: {escape(str(act['first_out']))}. {act['spilled_l']} L were lost within 60 s of the hole. "
        f"The leak panel needs {act['panel_delay_s']:g} s to report; the trip holds {act['hold_s']:g} s.</p>{story}"
        f"<h2>The neighbours</h2>{neighbours}<h2>Claims</h2>{claims}"
        f"<p>{report['messages']['observed']} messages seen of {report['messages']['published']}, {report['messages']['invalid']} not by the contract.</p></html>"
    )


def _html_table(head: list[str], rows: list[list[str]]) -> str:
    def cell(text: str) -> str:
        kind = {"holds": "ok", "FAILS": "bad"}.get(text, "n" if text[:1] in "+-0123456789" else "")
        return f'<td class="{kind}">{escape(text)}</td>'

    body = "".join(f"<tr>{''.join(cell(text) for text in row)}</tr>" for row in rows)
    return f"<table><tr>{''.join(f'<th>{escape(text)}</th>' for text in head)}</tr>{body}</table>"

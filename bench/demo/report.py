"""The demo's result as tables on the terminal, report.json for programs, report.html and pictures for people."""

import json
import re
from collections.abc import Sequence
from html import escape
from typing import Any

from rich.table import Table
from rich.text import Text

from bench.demo.claims import Claim
from bench.demo.options import Options
from bench.demo.outcome import Outcome, Rows
from bench.demo.plots import sheet
from bench.demo.screen import shown_speed
from bench.report import commit
from fieldkit.host import version


def write_reports(
    options: Options,
    broker: str,
    outcomes: Sequence[Outcome],
    claims: Sequence[Claim],
    messages: dict[str, int],
    times: dict[str, float],
) -> dict[str, Any]:
    """Write all files into ``options.out`` and return the document of report.json. ``claims`` are those of the whole."""
    all_claims = [*(claim for outcome in outcomes for claim in outcome.claims), *claims]
    report: dict[str, Any] = {
        "schema": "demo-report/1",
        "simulated": True,
        "version": version(),
        "commit": commit(),
        "seed": options.seed,
        "broker": broker,
        "cdu_mode": options.mode,
        **times,
        "acts": [outcome.act for outcome in outcomes],
        "messages": messages,
        "claims": [claim.document() for claim in all_claims],
        "ok": all(claim.ok for claim in all_claims),
    }
    pictures = [sheet(outcome.plots, outcome.x_label) for outcome in outcomes]
    for outcome, picture in zip(outcomes, pictures, strict=True):
        (options.out / f"picture-{outcome.act['id']}.svg").write_text(picture, encoding="utf-8")
    (options.out / "picture.svg").write_text(pictures[0], encoding="utf-8")
    if options.picture is not None:
        options.picture.write_text(pictures[0], encoding="utf-8")
    (options.out / "report.json").write_text(json.dumps(report, indent=1), encoding="utf-8")
    (options.out / "report.html").write_text(_page(report, outcomes, pictures), encoding="utf-8")
    return report


def table_of(rows: Rows, speed: float) -> Table:
    """A table of an act, for the terminal."""
    table = Table(*rows.head, title=f"{rows.title} ({shown_speed(speed)})")
    for row in rows.rows:
        table.add_row(*row)
    return table


def claim_table(report: dict[str, Any]) -> Table:
    table = Table("claim", "what", "measured", "limit", "", title="claims")
    for row in _claim_rows(report):
        mark = Text(row[-1], style="green" if row[-1] == "holds" else "bold red")
        table.add_row(*row[:-1], mark)
    return table


def _claim_rows(report: dict[str, Any]) -> list[list[str]]:
    return [
        [
            one["id"],
            one["text"],
            f"{_number(one['measured'])} {one['unit'].removeprefix('-')}".rstrip(),
            f"{one['op']} {_number(one['limit'])}",
            "holds" if one["ok"] else "FAILS",
        ]
        for one in report["claims"]
    ]


def _number(value: float) -> str:
    return "never" if value >= 1e9 else f"{value:.3f}".rstrip("0").rstrip(".")


_NUMBER = re.compile(r"[+-]?\d[\d.]*( \S+)?$")

_STYLE = """body{font:16px/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}
table{border-collapse:collapse;margin:1rem 0;width:100%}th,td{border-bottom:1px solid #ccc;padding:.3rem .6rem;text-align:left;vertical-align:top}
td.n{text-align:right;font-variant-numeric:tabular-nums}.ok{color:#06733d}.bad{color:#b00020;font-weight:bold}
.sim{background:#fde8ff;border:2px solid #a0a;padding:.4rem .8rem;font-weight:bold}svg{max-width:100%;height:auto}"""


def _page(report: dict[str, Any], outcomes: Sequence[Outcome], pictures: Sequence[str]) -> str:
    verdict = "Every claim holds." if report["ok"] else "Not every claim holds."
    head = f"CDU in {report['cdu_mode']}, broker {report['broker']}, seed {report['seed']}, version {report['version']} at {report['commit']}"
    acts = "".join(_act(outcome, picture) for outcome, picture in zip(outcomes, pictures, strict=True))
    claims = _html_table(Rows("Claims", ("claim", "what", "measured", "limit", ""), _claim_rows(report)))
    messages = report["messages"]
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>Demo: {escape(', '.join(outcome.title for outcome in outcomes))}</title><style>{_STYLE}</style>"
        '<p class="sim">SIMULATED: no real rack, no real coolant.</p>'
        f'<p class="{"ok" if report["ok"] else "bad"}">{verdict}</p><p>{escape(head)}</p>'
        f"{acts}{claims}"
        f"<p>{messages['observed']} messages seen of {messages['published']}, {messages['invalid']} not by the contract.</p></html>"
    )


def _act(outcome: Outcome, picture: str) -> str:
    speed = float(outcome.act["speed"])
    said = (
        "in real time"
        if speed == 1.0
        else f"at SPEED {speed:g}: plant and daemons run {speed:g} times as fast as the wall clock, all times are simulated seconds"
    )
    rows = [[f"{at_s:.3f}", text] for at_s, text in outcome.timeline]
    return (
        f"<h1>{escape(outcome.title)}</h1><p>Played {said}. {escape(outcome.story)}</p>{picture}"
        + _html_table(Rows("What happened", (outcome.clock, "what"), rows))
        + "".join(_html_table(table) for table in outcome.tables)
    )


def _html_table(table: Rows) -> str:
    def cell(text: str) -> str:
        kind = {"holds": "ok", "FAILS": "bad"}.get(text, "n" if _NUMBER.match(text) else "")
        return f'<td class="{kind}">{escape(text)}</td>'

    body = "".join(f"<tr>{''.join(cell(text) for text in row)}</tr>" for row in table.rows)
    head = "".join(f"<th>{escape(text)}</th>" for text in table.head)
    return f"<h2>{escape(table.title[:1].upper() + table.title[1:])}</h2><table><tr>{head}</tr>{body}</table>"

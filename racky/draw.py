"""``racky draw``: Racky's pages of docs/generated, from the code's tables. The same code, the same bytes."""

from collections.abc import Callable
from pathlib import Path

from fieldkit import config_bus, config_parts, pages
from fieldkit.markdown import sections, table
from racky import config_models
from racky.config_models import RackyFile
from racky.core.alarms import ALARM_ROWS
from racky.core.health_rows import ROWS as CAUSES
from racky.core.lifecycle_chart import CHART, STEPS
from racky.core.requests import REQUESTS, RequestRow

FOLDER = Path("docs") / "generated"
OURS = "<!-- Written by `racky draw` from the code's tables. Do not edit. -->"


def reference() -> str:
    """Every key of a rack's file of Racky."""
    return sections(RackyFile.model_json_schema(), config_parts, config_bus, config_models)


def requests() -> str:
    """Who may ask Racky for what."""
    heads = ("request", "roles", "what", "arguments", "why", "permissives", "has succeeded in")
    return table(heads, (_request(row) for row in REQUESTS.values()))


def _request(row: RequestRow) -> tuple[str, ...]:
    args = ", ".join(name if arg.needed else f"[{name}]" for name, arg in row.args.items())
    goal = ", ".join(sorted(row.goal)) or "at once"
    why = "needed" if row.why else "-"
    return (row.name, ", ".join(sorted(row.roles)), row.text, args or "-", why, str(len(row.permissives) or "-"), goal)


def causes() -> str:
    """What can be wrong, the root of most first."""
    heads = ("cause", "what", "what to do", "blocks", "classifications", "explains", "counts after")
    return table(heads, (
        (
            f"`{row.id}`", row.text, row.action, ", ".join(sorted(row.blocks)) or "-", ", ".join(sorted(row.classifications)) or "-",
            ", ".join(f"`{one}`" for one in row.explains) or "-", f"{row.on_s:g} s" if row.on_s else "at once",
        )
        for row in CAUSES
    ))  # fmt: skip


def alarms() -> str:
    heads = ("alarm", "priority", "cause", "consequence", "action", "respond within")
    return table(
        heads,
        ((row.id, row.priority, row.cause, row.consequence, row.action, f"{row.respond_s:g} s") for row in ALARM_ROWS),
    )


def lifecycle() -> str:
    """What leads where; for one event and state the first row whose condition holds wins."""
    rows = ((row.source, row.event, row.guard or "-", row.dest) for row in CHART)
    steps = ((state, ", ".join(steps)) for state, steps in STEPS.items())
    return table(("in", "event", "if", "goes to"), rows) + "\n" + table(("state", "steps"), steps)


# fmt: off
#: Name of a page: its title, a sentence, and the tables on it.
PAGES: dict[str, tuple[str, str, tuple[Callable[[], str], ...]]] = {
    "config-racky.md":    ("Racky's configuration", "Every key, with its bounds. `racky check-config FILE` tells all that is wrong with a file at once.", (reference,)),
    "requests-racky.md":  ("The requests to Racky", "Who may ask for what. Arguments in brackets may be left out.", (requests,)),
    "health-racky.md":    ("Health", "Causes in the order in which they matter. Ids that end in `*` have a tag, device or place in its stead.", (causes,)),
    "alarms-racky.md":    ("Racky's alarms", "What Valvey tells is not told again; their life is that of all alarms (ISA-18.2).", (alarms,)),
    "lifecycle-racky.md": ("The lifecycle", "From something that was found in a rack to a rack that is given work, or to quarantine with the evidence.", (lifecycle,)),
}
# fmt: on


def generated() -> dict[Path, str]:
    """Return every page by its path in the project."""
    out = {}
    for name, (title, sentence, parts) in PAGES.items():
        out[FOLDER / name] = f"{OURS}\n# {title}\n\n{sentence}\n" + "".join(f"\n{part()}" for part in parts)
    return out


def stale(root: Path) -> list[Path]:
    """Return the pages under ``root`` that are missing, differ from the code, or that no table makes any more."""
    return pages.stale(root, generated(), (FOLDER,), OURS)


def write(root: Path) -> None:
    pages.write(root, generated(), (FOLDER,), OURS)

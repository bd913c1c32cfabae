"""``valvey draw``: docs/generated, docs/devices and the tables inside SAFETY.md, from the code's tables and the profiles.

The same code and profiles, the same bytes.
"""

import re
from collections.abc import Callable
from pathlib import Path

from fieldkit import pages
from valvey import draw_config, draw_devices, draw_loop, draw_messages, draw_pid
from valvey import draw_tables as tables

FOLDER = Path("docs") / "generated"
SAFETY = Path("SAFETY.md")
FOLDERS = (FOLDER, draw_devices.FOLDER)
OURS = "<!-- Written by `valvey draw` from the code's tables. Do not edit. -->"
"""First line of a page; what begins otherwise in the same folder is somebody else's and left alone."""
_MARK = re.compile(r"(<!-- generated: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)

# fmt: off
#: Name of a page: its title, a sentence, and the tables on it.
PAGES: dict[str, tuple[str, str, tuple[Callable[[], str], ...]]] = {
    "chart.md":    ("The chart", "States of the rack's loop and what leads where; for one event and state the first row whose condition holds wins.", (tables.chart, tables.rows)),
    "trips.md":    ("The safety functions", "Cause and effect, with the leak policy that holds when a rack names none. Times are the design's; a rack's file may tune them within bounds.", (tables.trips, tables.policy)),
    "outputs.md":  ("The outputs", "What each step demands of the field, how steps end, and what the last gate lets pass whatever is demanded.", (tables.outputs, tables.steps, tables.gate)),
    "adoption.md": ("Adoption", "What a starting process makes of a rack: the first row that holds decides.", (tables.adoption,)),
    "requests.md": ("The requests", "Who may ask for what, and where it applies. Arguments in brackets may be left out.", (tables.requests,)),
    "alarms.md":   ("The alarms", "Rows ending in `-*` stand for one alarm each tag, function or device; below, the life of one alarm (ISA-18.2).", (tables.alarms, tables.alarm_life)),
    "glossary.md": ("The tags", "Numbers: 1xx the rack (11x its power shelves, 12x batteries, 13x power distribution), 2xx the CDU's shared loop. `LDT` and `FCV` are kept because sites say them; ISA-5.1 would write `LSH` and `FV`.", (tables.glossary, tables.worked_out)),
    "loop.md":     ("The loop", "What the coordinator of one CDU judges, grants, writes and never writes. Times are the design's; a loop's file may tune them within bounds.", (draw_loop.events, draw_loop.works, draw_loop.states, draw_loop.leases, draw_loop.whitelist, draw_loop.stop, draw_loop.requests, draw_loop.alarms)),
    "messages.md": ("The messages", "What every daemon says and hears on `racky/v1/{site}/{node}/{daemon}/…`, and the shape of each payload; the same for programs: [asyncapi.yaml](asyncapi.yaml). Directions are those of the daemon in the topic; a canary goes both ways. Times ending in `_wall_s` are seconds since 1970 UTC, `mono_s` compares within one `boot_id`. What a loop puts into them: [contracts/loop.md](../contracts/loop.md); how a request is asked and answered: [contracts/requests.md](../contracts/requests.md).", (draw_messages.topics, draw_messages.payloads)),
    "config-loop.md": ("The loop's configuration", "Every key of a loop's file, with its bounds. `valvey loop check-config FILE` tells all that is wrong with a file at once.", (draw_config.loop_reference,)),
    "config.md":   ("The configuration", "Every key, with its bounds. `valvey check-config FILE` tells all that is wrong with a file at once.", (draw_config.reference, draw_config.ladder)),
}
#: Tables that SAFETY.md includes, by the name in its marks.
BLOCKS: dict[str, Callable[[], str]] = {
    "trips": tables.trips, "policy": tables.policy, "outputs": tables.outputs, "gate": tables.gate, "adoption": tables.adoption,
    "loop-events": draw_loop.events, "loop-gate": draw_loop.whitelist, "loop-leases": draw_loop.leases, "loop-stop": draw_loop.stop,
    "chart": tables.chart, "wiring": tables.wiring, "ladder": draw_config.ladder,
}
# fmt: on


def generated() -> dict[Path, str]:
    """Return every generated page by its path in the project."""
    out = {}
    for name, (title, sentence, parts) in PAGES.items():
        head = f"{OURS}\n# {title}\n\n{sentence}\n"
        out[FOLDER / name] = head + "".join(f"\n{part()}" for part in parts)
    out[FOLDER / "asyncapi.yaml"] = (
        f"# Written by `valvey draw` from fieldkit/envelope.py. Do not edit.\n{draw_messages.asyncapi()}"
    )
    out[FOLDER / "pid.svg"] = f"{OURS}\n{draw_pid.pid()}"
    return out


def with_tables(page: str) -> str:
    """Return ``page`` with the table of each mark written anew. Raises ValueError naming an unknown mark."""

    def fill(found: re.Match[str]) -> str:
        if found[2] not in BLOCKS:
            raise ValueError(f"no table is called {found[2]!r}: {', '.join(BLOCKS)}")
        return f"{found[1]}{BLOCKS[found[2]]()}{found[3]}"

    return _MARK.sub(fill, page)


def _wanted(root: Path) -> dict[Path, str]:
    wanted = generated() | {path: f"{OURS}\n{text}" for path, text in draw_devices.pages(root).items()}
    if (root / SAFETY).is_file():
        wanted[SAFETY] = with_tables((root / SAFETY).read_text(encoding="utf-8"))
    return wanted


def stale(root: Path) -> list[Path]:
    """Return the pages under ``root`` that are missing, differ from the code, or that no table makes any more, sorted."""
    return pages.stale(root, _wanted(root), FOLDERS, OURS)


def write(root: Path) -> None:
    """Write every page under ``root`` and remove those that no table makes any more."""
    pages.write(root, _wanted(root), FOLDERS, OURS)

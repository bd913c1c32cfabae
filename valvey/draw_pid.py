"""The P&ID: one rack on its loop as an SVG, every tag of the tag table in its place. Deterministic."""

from collections.abc import Iterator
from xml.sax.saxutils import escape

from fieldkit.tag import TAGS, Owner, Signal, TagRow, parse_tag

WIDTH, HEIGHT = 1360, 800
RADIUS = 21
SUPPLY_Y, RETURN_Y = 240, 520

# fmt: off
#: Symbols in the pipe: valves as valves, and where their stem points.
IN_PIPE: dict[str, tuple[int, int, str]] = {
    "XV-101":  (300, SUPPLY_Y, "valve"),
    "FCV-101": (420, SUPPLY_Y, "control"),
    "XV-102":  (300, RETURN_Y, "valve"),
    "CV-102":  (300, RETURN_Y + 70, "check"),
    "XV-104":  (800, 140,      "upright"),
    "PSV-101": (890, 140,      "relief"),
    "XV-103":  (845, 610,      "upright"),
}
#: Bubbles: their centre, and where the line to the process ends (None = no line).
BUBBLES: dict[str, tuple[int, int, tuple[int, int] | None]] = {
    "ZSO-101": (250, 120, (300, SUPPLY_Y - 34)), "ZSC-101": (300, 120, (300, SUPPLY_Y - 34)), "XY-101": (350, 120, (300, SUPPLY_Y - 34)),
    "ZT-101":  (420, 120, (420, SUPPLY_Y - 34)),
    "FT-101":  (500, 160, (500, SUPPLY_Y)), "TT-101": (560, 160, (560, SUPPLY_Y)), "PT-101": (620, 160, (620, SUPPLY_Y)),
    "ZSO-102": (250, 410, (300, RETURN_Y - 34)), "ZSC-102": (300, 410, (300, RETURN_Y - 34)), "XY-102": (350, 410, (300, RETURN_Y - 34)),
    "FT-102":  (420, 440, (420, RETURN_Y)), "TT-102A": (480, 440, (480, RETURN_Y)), "TT-102B": (530, 440, (530, RETURN_Y)),
    "TT-102C": (580, 440, (580, RETURN_Y)), "PT-102": (635, 440, (635, RETURN_Y)),
    "ZSC-104": (700, 120, (780, 140)), "XY-104": (700, 75, (780, 140)),
    "ZSC-103": (720, 600, (825, 610)), "XY-103": (720, 650, (825, 610)),
    "FT-103":  (930, 660, (845, 660)), "LSH-203": (930, 735, (880, 735)), "LT-203": (760, 735, (810, 735)),
    "LDT-101": (730, 310, None), "LDA-101": (780, 310, None), "LDT-102": (730, 370, None), "LDA-102": (780, 370, None),
    "LDT-103": (540, 660, None), "LDA-103": (590, 660, None), "LDX-103": (640, 660, None),
    "XS-101":  (1060, 150, None), "XSY-101": (1120, 150, None), "XI-101": (1180, 150, None),
    "JT-101":  (1060, 230, None), "ET-101": (1120, 230, None), "EV-101": (1180, 230, None),
    "HS-101":  (1060, 350, None), "HS-102": (1120, 350, None), "US-201": (1180, 350, None),
    "XK-101":  (250, 60, None), "XKI-101": (305, 60, None), "XKP-101": (360, 60, None), "XKF-101": (415, 60, None),
    "TT-110":  (1060, 470, None), "MT-110": (1120, 470, None), "ZS-110": (1180, 470, None),
    "PT-201":  (70, 190, None), "TT-201": (120, 190, None), "FT-201": (170, 190, None),
    "P-201A":  (70, 290, None), "P-201B": (120, 290, None), "LT-201": (70, 370, None), "LDT-201": (120, 370, None),
    "PT-202":  (70, 470, None), "TT-202": (120, 470, None),
}
BOXES: tuple[tuple[int, int, int, int, str], ...] = (
    (30, 130, 180, 420, "CDU (shared loop)"),
    (680, 200, 260, 360, "rack"),
    (1020, 90, 210, 180, "power of the rack"),
    (1020, 300, 210, 90, "at the rack"),
    (1020, 420, 210, 90, "room (Racky)"),
    (500, 615, 180, 80, "floor under the racks"),
    (785, 705, 120, 60, "drain sump"),
    (220, 16, 225, 70, "partial stroke"),
)
PIPES: tuple[tuple[tuple[int, int], ...], ...] = (
    ((210, SUPPLY_Y), (680, SUPPLY_Y)),
    ((680, RETURN_Y), (210, RETURN_Y)),
    ((680, SUPPLY_Y), (915, SUPPLY_Y), (915, RETURN_Y), (680, RETURN_Y)),
    ((250, RETURN_Y), (250, RETURN_Y + 70), (350, RETURN_Y + 70), (350, RETURN_Y)),
    ((800, SUPPLY_Y), (800, 90)),
    ((890, SUPPLY_Y), (890, 90)),
    ((845, RETURN_Y), (845, 705)),
)
LABELS: tuple[tuple[int, int, str], ...] = (
    (216, SUPPLY_Y - 14, "supply"), (216, RETURN_Y - 14, "return"), (760, 84, "vent"), (905, 96, "relief"), (700, 285, "manifold tray, drip pan"),
)
#: Which way the coolant goes: 1 to the right.
ARROWS: tuple[tuple[int, int, int], ...] = ((235, SUPPLY_Y, 1), (660, SUPPLY_Y, 1), (235, RETURN_Y, -1), (665, RETURN_Y, -1))
# fmt: on
_COLOUR = {Owner.VALVEY: "#0b5394", Owner.RACKY: "#38761d", Owner.LOOP: "#7f6000"}
_STYLE = (
    "text{font:11px sans-serif;text-anchor:middle}.l{text-anchor:start;fill:#444}.p{fill:none;stroke:#000;stroke-width:3}"
    ".s{stroke:#888;stroke-dasharray:4 3}.b{fill:#fff;stroke-width:1.5}.x{fill:none;stroke:#aaa}.v{fill:#fff;stroke-width:2}"
)


def pid() -> str:
    """Return the drawing. Raises KeyError naming a tag of the table that has no place in it."""
    places = IN_PIPE.keys() | BUBBLES.keys()
    homeless = [row.tag for row in TAGS if row.tag not in places]
    if homeless:
        raise KeyError(f"no place in the P&ID for {', '.join(homeless)}: add them to draw_pid")
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">'
    yield f"<title>P&amp;ID of one rack on its loop</title><style>{_STYLE}</style>"
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>'
    for x, y, width, height, name in BOXES:
        yield f'<rect class="x" x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>'
        yield f'<text class="l" x="{x + 6}" y="{y + 15}">{escape(name)}</text>'
    for pipe in PIPES:
        yield f'<polyline class="p" points="{" ".join(f"{x},{y}" for x, y in pipe)}"/>'
    for x, y, way in ARROWS:
        yield f'<path d="M{x - 7 * way},{y - 7}L{x + 7 * way},{y}L{x - 7 * way},{y + 7}Z"/>'
    for x, y, label in LABELS:
        yield f'<text class="l" x="{x}" y="{y}">{escape(label)}</text>'
    for _, (x, y, end) in BUBBLES.items():
        if end is not None:
            yield f'<line class="s" x1="{x}" y1="{y}" x2="{end[0]}" y2="{end[1]}"/>'
    for row in TAGS:
        yield from _valve(row) if row.tag in IN_PIPE else _bubble(row)
    for index, (owner, colour) in enumerate(_COLOUR.items()):
        yield f'<text class="l" x="30" y="{HEIGHT - 60 + 18 * index}" style="fill:{colour}">{owner}: reads or commands it</text>'
    yield "</svg>"


def _bubble(row: TagRow) -> Iterator[str]:
    x, y, _ = BUBBLES[row.tag]
    tag, colour = parse_tag(row.tag), _COLOUR[row.owner]
    yield f'<g id="{row.tag}"><title>{escape(row.tag)}: {escape(row.description)}</title>'
    yield f'<circle class="b" cx="{x}" cy="{y}" r="{RADIUS}" stroke="{colour}"/>'
    yield f'<line x1="{x - RADIUS}" y1="{y}" x2="{x + RADIUS}" y2="{y}" stroke="{colour}" stroke-width="0.8"/>'
    yield f'<text x="{x}" y="{y - 4}">{tag.letters}</text><text x="{x}" y="{y + 13}">{tag.loop}{tag.suffix}</text></g>'


def _valve(row: TagRow) -> Iterator[str]:
    x, y, shape = IN_PIPE[row.tag]
    upright = shape in {"upright", "relief"}
    colour = "#000" if row.signal is Signal.WIRED else _COLOUR[row.owner]
    yield f'<g id="{row.tag}"><title>{escape(row.tag)}: {escape(row.description)}</title>'
    if shape == "check":
        yield f'<path class="v" stroke="{colour}" d="M{x + 12},{y - 10}V{y + 10}L{x - 12},{y}ZM{x - 12},{y - 10}V{y + 10}"/>'
    elif upright:
        yield f'<path class="v" stroke="{colour}" d="M{x - 10},{y - 16}H{x + 10}L{x - 10},{y + 16}H{x + 10}Z"/>'
    else:
        yield f'<path class="v" stroke="{colour}" d="M{x - 16},{y - 10}V{y + 10}L{x + 16},{y - 10}V{y + 10}Z"/>'
    if shape == "control":
        yield f'<path class="v" stroke="{colour}" d="M{x},{y}V{y - 22}M{x - 12},{y - 22}A12,12 0 0 1 {x + 12},{y - 22}Z"/>'
    elif shape == "valve":
        yield f'<path class="v" stroke="{colour}" d="M{x},{y}V{y - 20}M{x - 9},{y - 34}H{x + 9}V{y - 20}H{x - 9}Z"/>'
    elif shape == "upright":
        yield f'<path class="v" stroke="{colour}" d="M{x},{y}H{x - 20}M{x - 34},{y - 9}V{y + 9}H{x - 20}V{y - 9}Z"/>'
    place = (x + 40, y + 4) if upright else (x, y + 26)
    yield f'<text x="{place[0]}" y="{place[1]}">{row.tag}</text></g>'

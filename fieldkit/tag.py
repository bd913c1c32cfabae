"""Tags: how they are written (ISA-5.1 style, ``LETTERS-LOOP[SUFFIX]``), and the table of those of the reference plant.

The table is the source of the glossary and the P&ID. Numbers: 1xx the rack, 2xx the CDU's shared loop, 3xx the
facility side. ``LDT`` and ``FCV`` are kept because sites say them, although ISA-5.1 would write ``LSH`` and ``FV``.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from fieldkit.units import Unit

_SHAPE = re.compile(r"([A-Z]{1,4})-([1-9][0-9]{2})([A-Z]?)")

WRITE_ACK = "WRITE-ACK"
"""Not a tag of the plant: when the valve controller last acknowledged a write, as a reading."""
SYS_STORE = "SYS-STORE"
"""Nor is this: 1 while a daemon's memory or journal cannot be written."""


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag taken apart: what it measures or does, the loop it belongs to, and which of several it is."""

    letters: str
    loop: int
    suffix: str = ""

    def __str__(self) -> str:
        return f"{self.letters}-{self.loop}{self.suffix}"

    @property
    def area(self) -> int:
        """Hundreds of the loop number: 1 the rack, 2 the CDU's loop, 3 the facility side."""
        return self.loop // 100


def parse_tag(text: str) -> Tag:
    """Return ``text`` taken apart. Raises ValueError saying how a tag is written."""
    found = _SHAPE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no tag: write LETTERS-LOOP[SUFFIX], e.g. FT-101 or TT-102A")
    return Tag(found[1], int(found[2]), found[3])


class Owner(StrEnum):
    """Who alone may command it, or has the reading of it."""

    VALVEY = "valvey"
    RACKY = "racky"
    LOOP = "loop"


class Signal(StrEnum):
    """How it reaches us."""

    COMMAND = "command"
    CONTACT = "contact"
    READ_BACK = "read-back"
    """A coil's real state, told by the device that drives it."""
    ANALOGUE = "analogue"
    ANALOGUE_COMMAND = "analogue command"
    CODED_COMMAND = "coded command"
    """A number that names what to do."""
    WIRED = "wired"
    """Mechanical or wired only: it stands on the drawing, not on the bus."""


@dataclass(frozen=True, slots=True)
class TagRow:
    """One tag of the plant.

    range  in ``unit``: where a reading is meaningful; None for what has no number. Contacts are 0 and 1, and
           ``means`` says what 1 is
    """

    tag: str
    description: str
    unit: Unit
    owner: Owner
    range: tuple[float, float] | None
    signal: Signal
    means: str | None = None


_U = Unit
_V, _R, _L = Owner.VALVEY, Owner.RACKY, Owner.LOOP
_CMD, _IN, _BACK, _AI, _AO, _WIRED = (
    Signal.COMMAND,
    Signal.CONTACT,
    Signal.READ_BACK,
    Signal.ANALOGUE,
    Signal.ANALOGUE_COMMAND,
    Signal.WIRED,
)
_BIT = (0.0, 1.0)
_FLOW, _T, _P = (-100.0, 600.0), (-20.0, 120.0), (-100.0, 1600.0)

# fmt: off
TAGS: tuple[TagRow, ...] = (
    TagRow("XV-101",  "supply isolation valve, spring return, fails shut",     _U.NONE,         _V, _BIT,             _CMD,   "open"),
    TagRow("XV-102",  "return isolation valve, spring return, fails shut",     _U.NONE,         _V, _BIT,             _CMD,   "open"),
    TagRow("XV-103",  "drain valve at the low point, fails shut",              _U.NONE,         _V, _BIT,             _CMD,   "open"),
    TagRow("XV-104",  "vent valve at the high point, fails shut",              _U.NONE,         _V, _BIT,             _CMD,   "open"),
    TagRow("FCV-101", "flow control valve, holds when its bus is lost",        _U.PERCENT_OPEN, _V, (0.0, 100.0),     _AO),
    TagRow("XK-101",  "partial stroke that the valve controller times: 1 XV-101, 2 XV-102", _U.NONE, _V, (0.0, 2.0),    Signal.CODED_COMMAND),
    TagRow("XS-101",  "power permit, de-energised = rack isolated",            _U.NONE,         _V, _BIT,             _CMD,   "power permitted"),
    TagRow("ZSO-101", "open limit switch of XV-101",                           _U.NONE,         _V, _BIT,             _IN,    "fully open"),
    TagRow("ZSC-101", "shut limit switch of XV-101",                           _U.NONE,         _V, _BIT,             _IN,    "fully shut"),
    TagRow("ZSO-102", "open limit switch of XV-102",                           _U.NONE,         _V, _BIT,             _IN,    "fully open"),
    TagRow("ZSC-102", "shut limit switch of XV-102",                           _U.NONE,         _V, _BIT,             _IN,    "fully shut"),
    TagRow("ZSC-103", "shut limit switch of XV-103",                           _U.NONE,         _V, _BIT,             _IN,    "fully shut"),
    TagRow("ZSC-104", "shut limit switch of XV-104",                           _U.NONE,         _V, _BIT,             _IN,    "fully shut"),
    TagRow("XY-101",  "coil of XV-101 after all wiring",                       _U.NONE,         _V, _BIT,             _BACK,  "energised"),
    TagRow("XY-102",  "coil of XV-102 after all wiring",                       _U.NONE,         _V, _BIT,             _BACK,  "energised"),
    TagRow("XY-103",  "coil of XV-103 after all wiring",                       _U.NONE,         _V, _BIT,             _BACK,  "energised"),
    TagRow("XY-104",  "coil of XV-104 after all wiring",                       _U.NONE,         _V, _BIT,             _BACK,  "energised"),
    TagRow("XSY-101", "coil of XS-101 after all wiring",                       _U.NONE,         _V, _BIT,             _BACK,  "energised"),
    TagRow("XI-101",  "feedback of the permit's contactor",                    _U.NONE,         _V, _BIT,             _IN,    "power permitted"),
    TagRow("XKI-101", "a partial stroke is running",                           _U.NONE,         _V, _BIT,             _IN,    "running"),
    TagRow("XKP-101", "the last partial stroke passed",                        _U.NONE,         _V, _BIT,             _IN,    "passed"),
    TagRow("XKF-101", "the last partial stroke failed",                        _U.NONE,         _V, _BIT,             _IN,    "failed"),
    TagRow("HS-101",  "emergency stop, two-channel, wired; read to tell",      _U.NONE,         _V, _BIT,             _IN,    "pressed, or its wire broken"),
    TagRow("HS-102",  "lock-out key",                                          _U.NONE,         _V, _BIT,             _IN,    "locked out"),
    TagRow("LSH-203", "drain sump high, wired to each rack",                   _U.NONE,         _V, _BIT,             _IN,    "high, or its wire broken"),
    TagRow("US-201",  "trip contact of the CDU, wired to each rack that has it", _U.NONE, _V, _BIT,           _IN,    "the CDU asks for dark; a broken wire asks for nothing"),
    TagRow("ZT-101",  "position of FCV-101",                                   _U.PERCENT_OPEN, _V, (0.0, 100.0),     _AI),
    TagRow("FT-101",  "supply flow",                                           _U.L_MIN,        _V, _FLOW,            _AI),
    TagRow("FT-102",  "return flow",                                           _U.L_MIN,        _V, _FLOW,            _AI),
    TagRow("FT-103",  "drain flow",                                            _U.L_MIN,        _V, _FLOW,            _AI),
    TagRow("TT-101",  "supply temperature",                                    _U.DEG_C,        _V, _T,               _AI),
    TagRow("TT-102A", "return temperature, first of three",                    _U.DEG_C,        _V, _T,               _AI),
    TagRow("TT-102B", "return temperature, second of three",                   _U.DEG_C,        _V, _T,               _AI),
    TagRow("TT-102C", "return temperature, third of three",                    _U.DEG_C,        _V, _T,               _AI),
    TagRow("PT-101",  "pressure inside the rack, supply side (gauge)",         _U.KPA,          _V, _P,               _AI),
    TagRow("PT-102",  "pressure inside the rack, return side (gauge)",         _U.KPA,          _V, _P,               _AI),
    TagRow("LDT-101", "leak rope in the manifold tray (class rack)",           _U.NONE,         _V, _BIT,             _IN,    "wet"),
    TagRow("LDT-102", "leak spot in the drip pan (class rack)",                _U.NONE,         _V, _BIT,             _IN,    "wet"),
    TagRow("LDT-103", "leak rope on the floor (class floor)",                  _U.NONE,         _V, _BIT,             _IN,    "wet"),
    TagRow("LDA-101", "contamination of LDT-101",                              _U.NONE,         _V, _BIT,             _IN,    "contaminated"),
    TagRow("LDA-102", "contamination of LDT-102",                              _U.NONE,         _V, _BIT,             _IN,    "contaminated"),
    TagRow("LDA-103", "contamination of LDT-103",                              _U.NONE,         _V, _BIT,             _IN,    "contaminated"),
    TagRow("LDX-103", "distance of the leak along LDT-103, 0 = none",          _U.METRE,        _V, (0.0, 6553.5),    _AI),
    TagRow("JT-101",  "feeder power",                                          _U.KW,           _V, (-1000.0, 1000.0), _AI),
    TagRow("ET-101",  "bus-bar load behind the shelves: sees battery power",   _U.KW,           _V, (-20.0, 500.0),   _AI),
    TagRow("EV-101",  "bus-bar voltage behind the shelves",                    _U.VOLT,         _V, (-10.0, 100.0),   _AI),
    TagRow("PSV-101", "pressure safety valve",                                 _U.KPA,          _V, None,             _WIRED),
    TagRow("CV-102",  "thermal relief check valve around XV-102",              _U.KPA,          _V, None,             _WIRED),
    TagRow("TT-110",  "room air temperature at the rack",                      _U.DEG_C,        _R, (-20.0, 80.0),    _AI),
    TagRow("MT-110",  "room air humidity at the rack",                         _U.PERCENT,      _R, (0.0, 100.0),     _AI),
    TagRow("ZS-110",  "rack door",                                             _U.NONE,         _R, _BIT,             _IN,    "open"),
    TagRow("PT-201",  "supply header pressure (gauge)",                        _U.KPA,          _L, _P,               _AI),
    TagRow("PT-202",  "return header pressure (gauge)",                        _U.KPA,          _L, _P,               _AI),
    TagRow("FT-201",  "total flow of the CDU",                                 _U.L_MIN,        _L, (-500.0, 5000.0), _AI),
    TagRow("TT-201",  "supply temperature of the CDU",                         _U.DEG_C,        _L, _T,               _AI),
    TagRow("TT-202",  "return temperature of the CDU",                         _U.DEG_C,        _L, _T,               _AI),
    TagRow("LT-201",  "reservoir level of the CDU",                            _U.PERCENT,      _L, (0.0, 100.0),     _AI),
    TagRow("LT-203",  "drain sump level",                                      _U.PERCENT,      _L, (0.0, 100.0),     _AI),
    TagRow("LDT-201", "leak inside the CDU",                                   _U.NONE,         _L, _BIT,             _IN,    "wet"),
    TagRow("P-201A",  "first pump of the CDU, speed",                          _U.PERCENT,      _L, (0.0, 110.0),     _AI),
    TagRow("P-201B",  "second pump of the CDU, speed",                         _U.PERCENT,      _L, (0.0, 110.0),     _AI),
)
# fmt: on

BY_TAG: dict[str, TagRow] = {row.tag: row for row in TAGS}

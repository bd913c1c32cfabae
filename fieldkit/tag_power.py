"""The tags of a rack's power: shelves, supplies, batteries, distribution. They stand on no P&ID, for no coolant is in them.

Power shelf n (1..9) is loop 110+n, its supply k a suffix A..F; battery shelf n is loop 120+n; distribution is 13x. The rows
are those of the first shelf and its first supply: ``row_of`` finds them for all others.
"""

from fieldkit.tag import BY_TAG, Owner, Signal, TagRow, parse_tag
from fieldkit.units import Unit

_U, _R = Unit, Owner.RACKY
_CMD, _IN, _BACK, _AI = Signal.COMMAND, Signal.CONTACT, Signal.READ_BACK, Signal.ANALOGUE
_BIT = (0.0, 1.0)
FIRST_SHELF, FIRST_BATTERY, DISTRIBUTION = 111, 121, 130

# fmt: off
POWER_TAGS: tuple[TagRow, ...] = (
    TagRow("XS-111",  "output command of power shelf 1 (112: shelf 2, …)",          _U.NONE,    _R, _BIT,           _CMD,  "on"),
    TagRow("XI-111",  "output of power shelf 1",                                    _U.NONE,    _R, _BIT,           _BACK, "on"),
    TagRow("JT-111",  "power of shelf 1 into the bus-bar",                          _U.KW,      _R, (-10.0, 250.0), _AI),
    TagRow("JT-111A", "power of the first of its supplies (B…F: the others)",       _U.KW,      _R, (-10.0, 50.0),  _AI),
    TagRow("EV-111A", "output voltage of a supply",                                 _U.VOLT,    _R, (-10.0, 100.0), _AI),
    TagRow("TT-111A", "inlet temperature of a supply",                              _U.DEG_C,   _R, (-40.0, 150.0), _AI),
    TagRow("ST-111A", "fan speed of a supply",                                      _U.RPM,     _R, (0.0, 60000.0), _AI),
    TagRow("XA-111A", "fault of a supply",                                          _U.NONE,    _R, _BIT,           _IN,   "fault"),
    TagRow("SA-111A", "fan fault of a supply",                                      _U.NONE,    _R, _BIT,           _IN,   "fault"),
    TagRow("EA-111A", "mains of a supply",                                          _U.NONE,    _R, _BIT,           _IN,   "not ok"),
    TagRow("XS-121",  "output command of battery shelf 1 (122: shelf 2, …)",        _U.NONE,    _R, _BIT,           _CMD,  "on"),
    TagRow("XI-121",  "output of battery shelf 1",                                  _U.NONE,    _R, _BIT,           _BACK, "on"),
    TagRow("QT-121",  "charge of battery shelf 1",                                  _U.PERCENT, _R, (0.0, 100.0),   _AI),
    TagRow("XB-121",  "battery shelf 1 feeds the bus-bar",                          _U.NONE,    _R, _BIT,           _IN,   "feeding"),
    TagRow("JT-130",  "power that the distribution unit gives the rack",            _U.KW,      _R, (-10.0, 500.0), _AI),
    TagRow("CT-130A", "current of its first phase (B, C: the others)",              _U.AMPERE,  _R, (0.0, 2000.0),  _AI),
)
# fmt: on

_BY_KIND: dict[tuple[str, int, bool], TagRow] = {
    (tag.letters, tag.loop, bool(tag.suffix)): row for row in POWER_TAGS for tag in (parse_tag(row.tag),)
}


def row_of(text: str) -> TagRow | None:
    """Return the row of any tag: its own, or of a shelf's tag that of the first shelf and supply; None for an unknown one."""
    if text in BY_TAG:
        return BY_TAG[text]
    try:
        tag = parse_tag(text)
    except ValueError:
        return None
    first = next((one for one in (FIRST_SHELF, FIRST_BATTERY, DISTRIBUTION) if one <= tag.loop < one + 9), None)
    return None if first is None else _BY_KIND.get((tag.letters, first, bool(tag.suffix)))

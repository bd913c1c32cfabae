"""Which tags each safety function looks at, as a table: what a rack must have, how fast, and what its response waits for.

The judges are code; a test runs every judge and compares what it reads with this table.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from valvey.core.gate import NO_WRITE, STROKE
from valvey.core.policy import PolicyRule
from valvey.core.trips import Trip

OUTPUT_TAGS: tuple[str, ...] = tuple(tag for tag, _ in NO_WRITE.items())
THROTTLE = "FCV-101"
VALVE_BLOCK = ("XV-101", "XV-102", "XV-103", "XV-104", THROTTLE)
"""Written as one request, in the order of the registers; FCV-101 by itself where it is a device of its own."""
MAYBE_OUTPUTS = frozenset({STROKE})
"""Outputs that a rack may do without: not every valve controller times a partial stroke."""
EXPIRING = ("XS-101", "XV-101", "XV-102", "XV-103", "XV-104")
"""Outputs that have to go off by themselves; FCV-101 holds on purpose."""
READ_BACK = {"XV-101": "XY-101", "XV-102": "XY-102", "XV-103": "XY-103", "XV-104": "XY-104", "XS-101": "XSY-101"}
LAGGING = frozenset({"FT-101", "FT-102", "PT-101", "PT-102", "TT-101", "TT-102A", "TT-102B", "TT-102C", "ET-101"})
"""Sensors whose lag is a part of some response time, and has to be stated."""

# fmt: off
WIRING: dict[str, str] = {
    "W1": "HS-101, two channels normally closed, breaks the coil supply of XS-101 and XV-101..104 directly; reset by hand at the button",
    "W2": "XS-101's coil runs through the \"not shut\" contacts of ZSC-101 and ZSC-102",
    "W3": "XS-101's coil, the XV solenoids, the valve controller and this node hang on one 24 V supply buffered for 20 s or more",
    "W4": "XV-103's coil runs through ZSC-101 and ZSC-102 made and through LSH-203 not high",
    "W5": "thermal relief CV-102 around XV-102 (cracking at 50 kPa or less, Kv 0.1 or less), and PSV-101",
    "W6": "XS-101 removes all energy: every AC feed by under-voltage release, and it inhibits battery and capacitor shelves",
}
# fmt: on
"""What has to be wired, because no software may be trusted with it."""


@dataclass(frozen=True, slots=True)
class Need:
    """What a safety function reads.

    sif     the function, or one row of it
    senses  the tags whose change is the demand: their lag and lane are in its response time
    helps   what it reads besides: to know whether it is armed, to vote, to scale its limit
    maybe   read when there is one
    """

    sif: str
    senses: tuple[str, ...]
    helps: tuple[str, ...] = ()
    maybe: tuple[str, ...] = ()


_FLOWS = ("FT-101", "FT-102")
_RETURNS = ("TT-102A", "TT-102B", "TT-102C")
_LOAD = ("JT-101", "ET-101", "TT-101", *_RETURNS)

# fmt: off
NEEDS: tuple[Need, ...] = (
    Need("SIF-1",       ("LDT-101", "LDT-102"),                     maybe=("LDT-103", *_FLOWS, "TT-101", *_RETURNS)),
    Need("SIF-2",       ("PT-101",),                                ("ZSC-101",)),
    Need("SIF-3",       _RETURNS,                                   (*_FLOWS, "XI-101")),
    Need("SIF-4",       (*_FLOWS, "PT-101", "PT-102"),              (*_LOAD, "XI-101")),
    Need("SIF-5",       ("TT-101",),                                ("XI-101",)),
    Need("SIF-6",       ("PT-101", "PT-102"),                       ("ZSC-102",)),
    Need("SIF-7",       ("HS-101",)),
    Need("SIF-8",       ()),
    Need("SIF-9",       ("ZSC-101", "ZSC-102", *_FLOWS),            ("PT-101",), maybe=("PT-201", "PT-202")),
    Need("SIF-10",      (),                                         maybe=("US-201",)),
    Need("SIF-11",      _FLOWS,                                     ("ZSO-101", "ZSO-102", "LDT-101", "LDT-102", "PT-101", "PT-102", "TT-101", *_RETURNS), maybe=("LDT-103",)),
    Need("SIF-12",      ("ZSO-101", "ZSO-102"),                     ("ZSC-101", "ZSC-102", *_FLOWS, *_LOAD)),
    Need("SIF-13",      ("XI-101", "ET-101"),                       ("EV-101",)),
    Need("OPEN_LOST/coil",  ("XY-101", "XY-102")),
    Need("OPEN_LOST/shut",  ("ZSC-101", "ZSC-102")),
    Need("OPEN_LOST/drain", ("ZSC-103",)),
    Need("PERMIT_LOST", ("XI-101",)),
    Need("PROOF_LOST",  ("ZSC-101", "ZSC-102")),
    Need("adoption",    ("ZSO-101", "ZSC-101", "ZSO-102", "ZSC-102", "XY-101", "XY-102", "XSY-101", "XI-101"), ("ZSC-103", *_FLOWS)),
    Need("opening",     ("ZT-101", "ZSO-101", "ZSO-102", "ZSC-103", "TT-101"), (*_FLOWS, "PT-101", "PT-102")),
)
# fmt: on
_BY_NAME = {need.sif: need for need in NEEDS}


def senses_of(row: Trip, policy: Iterable[PolicyRule]) -> tuple[str, ...]:
    """Return the tags whose change is the demand of ``row``; a rule of the leak policy has its own."""
    for rule in policy:
        if row.key == f"SIF-1/{rule.name}":
            return rule.detectors
    return (_BY_NAME.get(row.key) or _BY_NAME[row.sif]).senses


def needed() -> dict[str, tuple[str, ...]]:
    """Return every input tag that a rack must have, with what needs it, in the order of the table."""
    out: dict[str, list[str]] = {}
    for need in NEEDS:
        for tag in dict.fromkeys((*need.senses, *need.helps)):
            out.setdefault(tag, []).append(need.sif)
    return {tag: tuple(sifs) for tag, sifs in out.items()}


#: Tags that act, or that the last gate looks at, within fractions of a second: read in the fast lane only.
FAST: frozenset[str] = frozenset({
    tag for need in NEEDS if need.sif not in {"SIF-3", "SIF-5", "opening"} for tag in need.senses
}) | frozenset({*READ_BACK.values(), "US-201"})

"""The sign-off: what was shown of one rack, by whom, under which configuration, as one canonical JSON document. Pure.

Not to be taken for the memory that ``valvey commission-record`` seeds, nor for the request ``commission``: those say what
Valvey believes of the coolant. This says what people saw of the field.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from fieldkit.model import Model
from valvey.commissioning.judge import Verdict
from valvey.commissioning.line import Facts, Line

SCHEMA = "valvey-sign-off/1"
DONE = frozenset({Verdict.PASS, Verdict.WAIVED})
NOT_DONE = "was not done"
MOST_BYTES = 2_000_000


class Entry(Model):
    """What became of one line."""

    id: str
    what: str
    expected: dict[str, Any]
    measured: dict[str, Any]
    verdict: Verdict
    why: str
    """Of a failure what was wrong, of a waiver the person's reason; empty for a pass."""
    by: Annotated[str, Field(min_length=1)]
    at: str
    """UTC."""


class Signature(Model):
    """Who answers for the whole."""

    by: Annotated[str, Field(min_length=1)]
    at: str


class SignOff(Model):
    """The record of one rack.

    digest       of the rack's file, its profiles and its policy, ``armed`` left out: arming comes after the sign-off
    devices      bus -> what the device says of itself (model, firmware, serial …), as far as it tells
    entries      by line, in the plan's order
    not_covered  tag -> why no line speaks for it
    """

    schema_: Annotated[Literal["valvey-sign-off/1"], Field(alias="schema")] = "valvey-sign-off/1"
    site: str
    rack: str
    simulated: bool
    digest: str
    versions: dict[str, str]
    devices: dict[str, dict[str, str]] = Field(default_factory=dict)
    begun: str
    entries: tuple[Entry, ...] = ()
    not_covered: dict[str, str] = Field(default_factory=dict)
    signed: Signature | None = None

    def entry(self, line: str) -> Entry | None:
        return next((one for one in self.entries if one.id == line), None)


@dataclass(frozen=True, slots=True)
class Lack:
    """One reason why a sign-off does not do: the line that it is about, and what is wrong."""

    line: str
    what: str


@dataclass(slots=True)
class Resumed:
    """What is kept of an earlier run, and why the rest is not."""

    entries: dict[str, Entry] = field(default_factory=dict)
    void: str = ""


_DOCUMENT = TypeAdapter(SignOff)


def dump(record: SignOff) -> bytes:
    """Return the canonical bytes: keys sorted, no spaces, one line, and the sha256 of all the rest as ``seal``."""
    document = _plain(record)
    document["seal"] = _seal(document)
    return _canonical(document) + b"\n"


def load(data: bytes) -> SignOff:
    """Return what ``dump`` wrote. Raises ValueError: no such document, or one that was changed afterwards."""
    try:
        document = json.loads(data[:MOST_BYTES])
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is no JSON document: {error}") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise ValueError(f"is no sign-off of this version ({SCHEMA}); `valvey commission` makes one")
    seal = document.pop("seal", None)
    if seal != _seal(document):
        raise ValueError("was changed after it was written: its seal does not fit")
    try:
        return _DOCUMENT.validate_json(_canonical(document))
    except ValidationError as error:
        problem = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}") from None


def entry_of(line: Line, measured: Facts, verdict: Verdict, why: str, by: str, at: str) -> Entry:
    """Return the entry of a line as it stands in the file; numbers are kept to the millisecond and the like."""
    return Entry(
        id=line.id,
        what=line.what,
        expected=_rounded(line.expected),
        measured=_rounded(measured),
        verdict=verdict,
        why=why,
        by=by,
        at=at,
    )


def resume(
    old: SignOff | None,
    digest: str,
    devices: Mapping[str, Mapping[str, str]],
    lines: Iterable[Line],
    redo: Iterable[str],
) -> Resumed:
    """Return what of an earlier run still counts: nothing under another configuration, and no line of an exchanged device.

    A line counts when it is done and expects what it expects now; those named in ``redo`` are done again.
    """
    if old is None:
        return Resumed()
    if old.digest != digest:
        return Resumed(void=f"the configuration has changed since (digest {old.digest[:12]}, now {digest[:12]})")
    changed = {bus for bus, texts in devices.items() if dict(texts) != old.devices.get(bus)}
    again, kept = set(redo), Resumed()
    for line in lines:
        entry = old.entry(line.id)
        if (
            entry is not None
            and entry.verdict in DONE
            and line.id not in again
            and not changed & line.buses
            and entry.expected == _rounded(line.expected)
        ):
            kept.entries[line.id] = entry
    return kept


def lacks(record: SignOff, site: str, rack: str, digest: str, lines: Iterable[Line]) -> list[Lack]:
    """Everything that keeps ``record`` from being the complete sign-off of this rack under this configuration."""
    out = []
    if (record.site, record.rack) != (site, rack):
        out.append(Lack("rack", f"is of {record.site}/{record.rack}, not of {site}/{rack}"))
    if record.digest != digest:
        text = f"is of another configuration: digest {record.digest[:12]}, now {digest[:12]}"
        out.append(Lack("digest", text))
    for line in lines:
        entry = record.entry(line.id)
        if entry is None:
            out.append(Lack(line.id, NOT_DONE))
        elif entry.verdict not in DONE:
            out.append(Lack(line.id, f"{entry.verdict}: {entry.why}"))
    if record.signed is None:
        out.append(Lack("signed", "nobody has signed it"))
    return out


def _plain(record: SignOff) -> dict[str, Any]:
    found: dict[str, Any] = record.model_dump(mode="json", by_alias=True)
    return found


def _rounded(facts: Any) -> Any:
    """Plain data with numbers as people and files can hold them."""
    if isinstance(facts, Mapping):
        return {str(key): _rounded(value) for key, value in facts.items()}
    if isinstance(facts, list | tuple):
        return [_rounded(one) for one in facts]
    return round(facts, 3) if isinstance(facts, float) else facts


def _canonical(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def _seal(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(_canonical(document)).hexdigest()

"""What hangs in the rack: makers, models, serials and firmware, against what was ordered and what the manifest wants."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from racky.core.mailbox import Mailbox


@dataclass(frozen=True, slots=True)
class Identity:
    """What a device says of itself; blanks at the ends are cut off."""

    device: str
    maker: str
    model: str
    serial: str
    firmware: str


@dataclass(frozen=True, slots=True)
class Expected:
    """A device that must be there. ``serial`` None: any, but one that no other device has."""

    device: str
    model: str
    serial: str | None = None


@dataclass(frozen=True, slots=True)
class Release:
    """What the manifest says of one model.

    revision  the one that is wanted
    accepts   others that may stay
    image     name of the image that brings it; None: it is updated by hand
    mailbox   how it is brought
    """

    model: str
    revision: str
    accepts: tuple[str, ...] = ()
    image: str | None = None
    mailbox: Mailbox | None = None


class Wrong(StrEnum):
    MISSING = "missing"
    """It does not say who it is."""
    STRANGER = "stranger"
    """Nobody ordered it."""
    MODEL = "model"
    SERIAL = "serial"
    TWICE = "twice"
    """Two devices say the same serial: one is read twice, or one was copied."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One device that is not as expected."""

    device: str
    wrong: Wrong
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.device}: {self.wrong} (expected {self.expected}, found {self.found})"


def compare(expected: Sequence[Expected], found: Mapping[str, Identity]) -> tuple[Mismatch, ...]:
    """Return everything that is not as expected, in the order of the list; strangers and twins last."""
    out: list[Mismatch] = []
    for one in expected:
        is_there = found.get(one.device)
        if is_there is None or not is_there.serial:
            out.append(Mismatch(one.device, Wrong.MISSING, one.model, "nothing"))
            continue
        if is_there.model != one.model:
            out.append(Mismatch(one.device, Wrong.MODEL, one.model, is_there.model))
        if one.serial is not None and is_there.serial != one.serial:
            out.append(Mismatch(one.device, Wrong.SERIAL, one.serial, is_there.serial))
    names = {one.device for one in expected}
    out += [Mismatch(name, Wrong.STRANGER, "nothing", found[name].model) for name in sorted(set(found) - names)]
    counts = Counter((one.model, one.serial) for one in found.values() if one.serial)
    for name in sorted(found):
        one_s = found[name]
        if counts[one_s.model, one_s.serial] > 1:
            out.append(Mismatch(name, Wrong.TWICE, "a serial of its own", one_s.serial))
    return tuple(out)


@dataclass(frozen=True, slots=True)
class Behind:
    """A device that does not run what the manifest wants. ``release`` None: the manifest does not know its model."""

    device: str
    model: str
    runs: str
    release: Release | None

    def __str__(self) -> str:
        wants = "no release of its model" if self.release is None else self.release.revision
        return f"{self.device} ({self.model}): runs {self.runs or 'nothing known'}, the manifest wants {wants}"


def behind(manifest: Iterable[Release], found: Mapping[str, Identity]) -> tuple[Behind, ...]:
    """Return the devices that are not at the manifest's revision, sorted by name."""
    by_model = {release.model: release for release in manifest}
    out: list[Behind] = []
    for name in sorted(found):
        one = found[name]
        release = by_model.get(one.model)
        if release is None or (one.firmware != release.revision and one.firmware not in release.accepts):
            out.append(Behind(name, one.model, one.firmware, release))
    return tuple(out)


def differs(before: Iterable[Identity], found: Mapping[str, Identity], *, firmware: bool = True) -> tuple[str, ...]:
    """Return the devices that are others than before, or (``firmware``) run another revision.

    One that cannot be read now is no change; one that was not there is.
    """
    known = {one.device: one if firmware else replace(one, firmware="") for one in before}
    now = {name: one if firmware else replace(one, firmware="") for name, one in found.items()}
    return tuple(name for name in sorted(now) if now[name].serial and known.get(name) != now[name])

"""The lifecycle's files: gates, and the firmware manifest. Read, checked as a whole, and turned into the core's plain data."""

from hashlib import sha256
from pathlib import Path
from typing import Annotated

from pydantic import Field

from fieldkit.errors import ConfigError, Fault
from fieldkit.model import Model
from fieldkit.units import Unit
from fieldkit.yamlfile import Document, check, load
from racky.core.gates import Gate, faults
from racky.core.inventory import Release
from racky.core.lifecycle import KNOWN
from racky.core.lifecycle_chart import STAGES, State
from racky.core.mailbox import Mailbox
from racky.core.plan import DETECTORS, Times

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$", max_length=40)]
Text = Annotated[str, Field(min_length=1, max_length=400)]


class GateFile(Model):
    """One gate. ``stage``: the state it closes; ``low`` and ``high``: limits in ``unit``, met themselves."""

    stage: Text
    measure: Text
    unit: Text
    low: float | None = None
    high: float | None = None
    text: Text
    action: Text


Seconds = Annotated[float, Field(gt=0, le=86400)]


class TimesFile(Model):
    """How long each step takes and may take, s; see ``racky.core.plan.Times``. What is left out is as there."""

    identify: Seconds | None = None
    update_most: Seconds | None = None
    fill_most: Seconds | None = None
    open_most: Seconds | None = None
    wide_most: Seconds | None = None
    nominal_most: Seconds | None = None
    auto_most: Seconds | None = None
    calm: Seconds | None = None
    watch_wide: Annotated[float, Field(ge=30, le=86400)] | None = None
    watch_nominal: Annotated[float, Field(ge=30, le=86400)] | None = None
    on_most: Seconds | None = None
    load_most: Seconds | None = None
    settle: Seconds | None = None
    watch: Annotated[float, Field(ge=30, le=86400)] | None = None
    diagnose_most: Seconds | None = None
    retry: Seconds | None = None


class GatesFile(Model):
    """``detectors``: tags that must be dry and free of contamination."""

    gates: dict[Name, GateFile]
    times: TimesFile = TimesFile()
    detectors: tuple[Text, ...] = DETECTORS


class MailboxFile(Model):
    """The ORv3 mailbox of a model; words and times as its maker gives them."""

    block_bytes: Annotated[int, Field(ge=2, le=96, multiple_of=2)] = 64
    boot_word: Annotated[int, Field(ge=0, le=0xFFFF)] = 0xA5A5
    two_slots: bool
    revision_address: Annotated[int, Field(ge=0, le=0xFFFF)]
    revision_words: Annotated[int, Field(ge=1, le=16)] = 4
    revision_input: bool = False
    erase_s: Annotated[float, Field(gt=0, le=600)] = 30.0
    accept_s: Annotated[float, Field(gt=0, le=600)] = 10.0
    verify_s: Annotated[float, Field(gt=0, le=600)] = 60.0
    restart_s: Annotated[float, Field(gt=0, le=600)] = 90.0
    poll_s: Annotated[float, Field(gt=0, le=10)] = 0.5


class ReleaseFile(Model):
    """What is wanted of one model. ``image``: file beside the manifest; ``sha256``: of that file."""

    revision: Annotated[str, Field(min_length=1, max_length=32)]
    accepts: tuple[str, ...] = ()
    image: str | None = None
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    mailbox: MailboxFile | None = None


class ManifestFile(Model):
    releases: dict[str, ReleaseFile]


def read_gates(path: Path) -> tuple[Gate, ...]:
    """Return the gates of a file, in its order. Raises ConfigError naming every fault with its line."""
    document = load(path)
    file = check(document, GatesFile)
    wrong = list[Fault]()
    out = list[Gate]()
    for name, one in file.gates.items():
        if one.stage not in STAGES:
            allowed = ", ".join(STAGES)
            wrong.append(document.fault(("gates", name, "stage"), f"'{one.stage}' has no gates", allowed))
        elif one.unit not in set(Unit):
            wrong.append(document.fault(("gates", name, "unit"), f"'{one.unit}' is no unit", ", ".join(Unit)))
        else:
            out.append(
                Gate(name, State(one.stage), one.measure, Unit(one.unit), one.low, one.high, one.text, one.action)
            )
    if not wrong:
        wrong = [_fault(document, told) for told in faults(out, KNOWN)]
    if wrong:
        raise ConfigError(wrong)
    return tuple(out)


def read_times(path: Path) -> Times:
    """Return the times of a file of gates. Raises ConfigError."""
    stated = check(load(path), GatesFile).times.model_dump(exclude_none=True)
    return Times(**stated)


def read_detectors(path: Path) -> tuple[str, ...]:
    """Return the leak detectors of a file of gates. Raises ConfigError."""
    return check(load(path), GatesFile).detectors


def _fault(document: Document, told: str) -> Fault:
    """A fault at the gate that it names, else at the table."""
    name = told.split("'")[1] if told.startswith("gate '") else None
    return document.fault(("gates",) if name is None else ("gates", name), told)


def read_manifest(path: Path) -> tuple[tuple[Release, ...], dict[str, bytes]]:
    """Return the manifest and its images by name, each compared with its sum. Raises ConfigError."""
    document = load(path)
    file = check(document, ManifestFile)
    wrong, images, out = list[Fault](), dict[str, bytes](), list[Release]()
    for model, one in file.releases.items():
        place = ("releases", model)
        if (one.image is None) != (one.mailbox is None) or (one.image is None) != (one.sha256 is None):
            wrong.append(document.fault(place, "image, sha256 and mailbox belong together", "all three, or none"))
        elif one.image is not None:
            problem = _image(path.parent / one.image, one.sha256 or "", images, one.image)
            if problem is not None:
                wrong.append(document.fault((*place, "image"), problem))
        box = None if one.mailbox is None else Mailbox(**one.mailbox.model_dump())
        out.append(Release(model, one.revision, one.accepts, one.image, box))
    if wrong:
        raise ConfigError(wrong)
    return tuple(out), images


def _image(path: Path, wanted: str, images: dict[str, bytes], name: str) -> str | None:
    """Read one image into ``images``; what is wrong with it, or None."""
    try:
        data = path.read_bytes()
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"
    found = sha256(data).hexdigest()
    if found != wanted:
        return f"{path} has the sum {found}, not {wanted}"
    images[name] = data
    return None

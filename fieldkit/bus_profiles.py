"""What a configuration file names beside itself: the profiles of its buses, read once each; and a file as a document."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fieldkit import profile_file, yamlfile
from fieldkit.config_bus import Bus
from fieldkit.config_draft import Draft
from fieldkit.errors import ConfigError, Fault, nearest
from fieldkit.profile import Profile


def document_of(path: Path, what: str) -> tuple[yamlfile.Document, list[Fault]]:
    """Return a file as far as it can be read, and its faults. Raises ConfigError when it is not there; ``what``: what should be."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ConfigError([Fault(str(path), None, "", f"cannot be read: {error.strerror}", what)]) from error
    return yamlfile.parse_what_can_be(raw, str(path))


def profiles_of(draft: Draft[Any], buses: Mapping[str, Bus], folder: Path) -> tuple[dict[str, Profile], list[Fault]]:
    """Return the profile of each bus that has a sound one, and the faults of the profiles' own files."""
    known = sorted(path.stem for path in folder.glob("*.yaml"))
    read_once: dict[str, Profile | None] = {}
    out: dict[str, Profile] = {}
    faults: list[Fault] = []
    for bus, one in buses.items():
        if one.profile not in known:
            allowed = ", ".join(known) or f"a file in {folder}, which has none"
            draft.add(
                ("buses", bus, "profile"),
                f"no profile {one.profile!r} in {folder}",
                allowed,
                nearest(one.profile, known),
            )
            continue
        if one.profile not in read_once:
            try:
                read_once[one.profile] = profile_file.load(folder / f"{one.profile}.yaml")
            except ConfigError as error:
                read_once[one.profile] = None
                faults += error.faults
        profile = read_once[one.profile]
        if profile is not None:
            out[bus] = profile
    return out, faults

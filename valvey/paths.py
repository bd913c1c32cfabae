"""Where one rack's daemon keeps what it keeps."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from valvey.config_rack import RackConfig


@dataclass(frozen=True, slots=True)
class Paths:
    """Files of one rack.

    memory   the store's database
    journal  directory of the record
    starts   recent starts of this boot
    lock     held by the one running instance; its first line is that process' id
    signoff  what was shown of the rack's field, by whom (`valvey commission`)
    """

    memory: Path
    journal: Path
    starts: Path
    lock: Path
    signoff: Path

    @classmethod
    def of(cls, config: RackConfig) -> Self:
        data = config.data
        folder = config.path(data.memory.directory)
        runtime = config.path(data.memory.runtime_directory)
        journal = folder / "journal" if data.journal is None else config.path(data.journal.directory)
        return cls(
            folder / "memory.sqlite", journal, runtime / "starts.json", runtime / "lock", folder / "signoff.json"
        )

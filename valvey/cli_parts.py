"""What Valvey's commands share: those of all commands, and how a rack's file is loaded for one."""

from pathlib import Path
from typing import TYPE_CHECKING

from fieldkit.cli_parts import AsOutput as AsOutput
from fieldkit.cli_parts import ConfigArg as ConfigArg
from fieldkit.cli_parts import Output as Output
from fieldkit.cli_parts import WhyOption as WhyOption
from fieldkit.cli_parts import fail as fail
from fieldkit.cli_parts import loaded
from fieldkit.cli_parts import tell as tell
from fieldkit.exit_codes import EXIT as EXIT

if TYPE_CHECKING:
    from valvey.config_rack import RackConfig


def load_config(path: Path) -> "RackConfig":
    """Read and check a rack's file, or exit with every fault told."""
    from valvey.config import load

    return loaded(load, path)

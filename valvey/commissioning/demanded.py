"""``check-config --require-commissioned``: the complete, signed record of this very configuration, or what is missing."""

from pathlib import Path

from fieldkit.errors import Fault
from valvey.commissioning.files import find_record
from valvey.commissioning.plan import lines_of
from valvey.commissioning.signoff import lacks
from valvey.config import field_digest
from valvey.config_rack import RackConfig

HOW = "a complete and signed record: `valvey commission`"


def faults_of(config: RackConfig, path: Path) -> list[Fault]:
    """Everything that keeps the record at ``path`` from counting for ``config``; empty when it counts."""
    try:
        record = find_record(path)
    except (OSError, ValueError) as error:
        return [Fault(str(path), None, "", getattr(error, "strerror", None) or str(error), HOW)]
    if record is None:
        return [Fault(str(path), None, "", "is not there: the rack was never commissioned", HOW)]
    data = config.data
    found = lacks(record, data.site, data.rack, field_digest(config), lines_of(config))
    return [Fault(str(path), None, one.line, one.what, HOW) for one in found]

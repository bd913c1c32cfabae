"""Logs: past-tense events with fields, on stderr, as JSON or for a person to read; secrets never appear."""

import logging
import os
import sys
from collections.abc import Mapping
from typing import Any, Literal, TextIO

from fieldkit.without import without

with without("rich"):  # 0.2 s of a cold start, for coloured tracebacks that no line here carries
    import structlog

LogFormat = Literal["auto", "json", "console"]

_HIDDEN = "***"
_SECRET_WORDS = ("password", "passwd", "secret", "token", "credential", "private_key")
_PRIORITIES = {"critical": 2, "error": 3, "exception": 3, "warning": 4, "info": 6, "debug": 7}


class Secret:
    """A text that prints as ``***`` wherever it lands; ``reveal()`` is the only way to it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return _HIDDEN

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError("a secret is not written anywhere")


def hide_secrets(value: Any, key: str = "") -> Any:
    """Return ``value`` with every secret in it, by type or by the name of its key, replaced by ``***``."""
    if isinstance(value, Secret) or (value is not None and any(word in key.lower() for word in _SECRET_WORDS)):
        return _HIDDEN
    if isinstance(value, Mapping):
        return {k: hide_secrets(v, str(k)) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [hide_secrets(v) for v in value]
    return value


def configure(
    fmt: LogFormat = "auto", level: str = "info", stream: TextIO | None = None, **fields: str
) -> structlog.typing.FilteringBoundLogger:
    """Set up logging for this process and return its logger, with ``fields`` (rack, daemon) on every line.

    ``auto`` is console on a terminal and JSON elsewhere. Under journald each line carries its priority. Warnings of
    libraries go the same way.
    """
    out = sys.stderr if stream is None else stream
    console = fmt == "console" or (fmt == "auto" and out.isatty())
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
        _hide,
        structlog.processors.format_exc_info,
    ]
    last: list[structlog.typing.Processor] = (
        [structlog.dev.ConsoleRenderer(colors=out.isatty(), exception_formatter=structlog.dev.plain_traceback)]
        if console
        else [structlog.processors.JSONRenderer(default=str), _Prefix(journald=_is_journal(out))]
    )
    numeric = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[*shared, *last],
        wrapper_class=structlog.make_filtering_bound_logger(numeric),
        logger_factory=structlog.PrintLoggerFactory(out),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(processors=[_drop_record, *last], foreign_pre_chain=shared)
    )
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    structlog.contextvars.bind_contextvars(**fields)
    logger: structlog.typing.FilteringBoundLogger = structlog.get_logger()
    return logger


def _hide(_logger: Any, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    return {key: hide_secrets(value, key) for key, value in event.items()}


def _drop_record(
    _logger: Any,
    _method: str,
    event: structlog.typing.EventDict,
) -> structlog.typing.EventDict:
    return {key: value for key, value in event.items() if key not in {"_record", "_from_structlog"}}


class _Prefix:
    """Puts ``<priority>`` in front of a line, which journald takes off again."""

    def __init__(self, *, journald: bool) -> None:
        self._journald = journald

    def __call__(self, _logger: Any, method: str, line: Any) -> str:
        return f"<{_PRIORITIES.get(method, 6)}>{line}" if self._journald else str(line)


def _is_journal(out: TextIO) -> bool:
    """JOURNAL_STREAM names the device and inode of the journal's pipe; stderr may have been sent elsewhere."""
    try:
        status = os.fstat(out.fileno())
    except (OSError, ValueError):
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"

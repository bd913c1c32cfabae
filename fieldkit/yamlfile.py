"""YAML files read so that a mistake can be pointed at: duplicate keys refused, the line of every key kept.

The YAML is the plain part of version 1.2: ``on``, ``no``, ``12:30`` and dates stay text, ``010`` is refused. No tags,
no merge keys, no anchors: what a file says stands where it says it.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from yaml.composer import Composer
from yaml.resolver import BaseResolver

from fieldkit.errors import ConfigError, Fault
from fieldkit.schema_faults import Problem, problems_of

MOST_BYTES = 1_000_000
MOST_DEPTH = 30

KeyPath = tuple[str | int, ...]
M = TypeVar("M", bound=BaseModel)

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)|0x[0-9a-fA-F]+|0o[0-7]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_OCTAL = re.compile(r"[-+]?0[0-9_]+")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}


@dataclass(frozen=True, slots=True)
class Document:
    """One file: ``data`` as plain dicts, lists and scalars, and the 1-based line at which each path stands."""

    file: str
    data: dict[str, Any]
    lines: dict[KeyPath, int]

    def line_of(self, path: KeyPath) -> int:
        """Return the line of ``path``, or of the nearest part of the file around it when it is not there."""
        while path not in self.lines:
            path = path[:-1]
        return self.lines[path]

    def fault(self, path: KeyPath, message: str, allowed: str | None = None, nearest: str | None = None) -> Fault:
        """Return a fault at ``path`` of this file."""
        return Fault(self.file, self.line_of(path), dotted(path), message, allowed, nearest)


def dotted(path: KeyPath) -> str:
    """Return ``("tags", "FT-101", 0)`` as ``tags.FT-101.0``."""
    return ".".join(str(part) for part in path)


def load(path: Path) -> Document:
    """Read one file. Raises ConfigError naming each fault with its line."""
    return parse(read(path), str(path))


def read(path: Path) -> bytes:
    """Return what stands in a file. Raises ConfigError when it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError([Fault(str(path), None, "", f"cannot be read: {error.strerror}")]) from error


def parse(raw: bytes, file: str) -> Document:
    """Read the bytes of a file that is called ``file`` in messages. Raises ConfigError like ``load``."""
    document, faults = parse_what_can_be(raw, file)
    if faults:
        raise ConfigError(faults)
    return document


def parse_what_can_be(raw: bytes, file: str) -> tuple[Document, list[Fault]]:
    """Return what ``raw`` says and what is wrong with how it says it: of a key that stands twice, the first holds.

    For whoever wants to tell all faults of a file at once, those of its meaning too. Raises ConfigError when it is no
    YAML with keys at all.
    """
    if len(raw) > MOST_BYTES:
        raise ConfigError([Fault(file, None, "", f"is {len(raw)} bytes long", f"at most {MOST_BYTES}")])
    try:
        node = _Composer(raw.decode("utf-8")).get_single_node()
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ConfigError([Fault(file, line, "", "is not UTF-8 text")]) from error
    except _NotHereError as error:
        raise ConfigError([Fault(file, error.line, "", error.problem)]) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        message = f"is not YAML: {error.problem or error.context}"
        raise ConfigError([Fault(file, mark.line + 1 if mark is not None else None, "", message)]) from error
    except yaml.YAMLError as error:
        raise ConfigError([Fault(file, None, "", f"is not YAML: {error}")]) from error
    reader = _Reader(file)
    if not isinstance(node, yaml.MappingNode):
        reader.fault((), node, "has no keys at its top level", "key: value lines")
        raise ConfigError(reader.faults)
    data = reader.mapping(node, ())
    return Document(file, data, reader.lines), reader.faults


def check(document: Document, model: type[M]) -> M:
    """Return ``document`` as a ``model``. Raises ConfigError listing every fault with its line.

    Types are strict (``1`` is no text, ``"1"`` and ``true`` are no numbers), as in JSON.
    """
    try:
        return model.model_validate_json(json.dumps(document.data), strict=True)
    except ValidationError as error:
        raise ConfigError(faults_of(document, model, error)) from error


def faults_of(document: Document, model: type[BaseModel], error: ValidationError) -> list[Fault]:
    """Return the faults that ``error``, raised by ``model`` for this document, tells of, by line."""
    faults = [_fault(document, problem) for problem in problems_of(model, document.data, error)]
    return sorted(faults, key=lambda fault: (fault.line or 0, fault.key))


def _fault(document: Document, problem: Problem) -> Fault:
    return document.fault(problem.path, problem.message, problem.allowed, problem.nearest)


class _NotHereError(Exception):
    """A part of YAML that these files do without."""

    def __init__(self, problem: str, line: int | None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line


class _Composer(Composer, BaseResolver):
    """Composes nodes from the parser's events (libyaml's where it is there: ten times as fast)."""

    def __init__(self, text: str) -> None:
        Composer.__init__(self)
        BaseResolver.__init__(self)
        self._events: Any = (yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader)(text)
        self._depth = 0

    def check_event(self, *choices: type[yaml.Event]) -> bool:
        return bool(self._events.check_event(*choices))

    def peek_event(self) -> yaml.Event:
        event: yaml.Event = self._events.peek_event()
        return event

    def get_event(self) -> yaml.Event:
        event: yaml.Event = self._events.get_event()
        return event

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()
        problem = None
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            problem = "anchors and aliases are not used here"
        elif (tag := getattr(event, "tag", None)) is not None:
            problem = f"tag {tag} is not used here"
        elif self._depth >= MOST_DEPTH:
            problem = f"more than {MOST_DEPTH} levels deep"
        if problem is not None:
            mark = event.start_mark
            raise _NotHereError(problem, None if mark is None else mark.line + 1)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


class _Reader:
    """Turns nodes into plain data, noting lines and faults on the way."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.lines: dict[KeyPath, int] = {(): 1}
        self.faults: list[Fault] = []

    def fault(self, path: KeyPath, node: yaml.Node | None, message: str, allowed: str | None = None) -> None:
        line = 1 if node is None else node.start_mark.line + 1
        self.faults.append(Fault(self.file, line, dotted(path), message, allowed))

    def mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self.fault(path, key_node, "a key must be a word")
                continue
            key = str(key_node.value)
            here = (*path, key)
            if key in out:
                self.fault(here, key_node, f"stands twice, first in line {self.lines[here]}", "each key once")
                continue
            self.lines[here] = key_node.start_mark.line + 1
            out[key] = self.value(value_node, here)
        return out

    def value(self, node: yaml.Node, path: KeyPath) -> Any:
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            for index, item in enumerate(node.value):
                self.lines[*path, index] = item.start_mark.line + 1
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        return self.scalar(node, path)

    def scalar(self, node: yaml.Node, path: KeyPath) -> bool | int | float | str | None:
        word = str(node.value)
        if isinstance(node, yaml.ScalarNode) and node.style in {"'", '"', "|", ">"}:
            return word
        if word in _WORDS:
            return _WORDS[word]
        if _INTEGER.fullmatch(word):
            return int(word, 0)
        if _OCTAL.fullmatch(word):
            self.fault(path, node, f"{word} begins with 0", "a decimal number without leading zeros, 0x.. or 0o..")
            return None
        if _FLOAT.fullmatch(word):
            return float(word)
        return word

"""What an act hands over to the report: its part of report.json, its claims, its curves and its story."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.demo.claims import Claim
from bench.demo.plots import Plot


@dataclass(frozen=True, slots=True)
class Rows:
    """A table of the report: a title, the heads, and rows of text."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass
class Outcome:
    """An act as it went.

    title, story  for people; ``timeline`` is (seconds, what happened), ``clock`` says since when
    """

    act: dict[str, Any]
    claims: list[Claim]
    title: str
    story: str
    plots: list[Plot]
    x_label: str
    clock: str
    timeline: list[tuple[float, str]]
    tables: list[Rows] = field(default_factory=list)

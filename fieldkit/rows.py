"""Readings as the ``field`` commands print them: one row a tag, as INTERFACES pins it."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fieldkit.letters import judged_by_age
from fieldkit.reading import Quality, Reading


def rows(
    rack: str, simulated: bool, tags: Iterable[str], readings: Mapping[str, Reading], max_age_s: Callable[[str], float],
    now_s: float,
) -> list[dict[str, Any]]:  # fmt: skip
    """Return one row for each tag. ``max_age_s``: how old a tag's reading may be."""
    out: list[dict[str, Any]] = []
    for tag in tags:
        reading = readings[tag]
        value, quality, reason = judged_by_age(reading, max_age_s(tag), now_s)
        out.append({
            "t_mono_s": round(now_s, 6),
            "rack": rack,
            "tag": tag,
            "value": value,
            "unit": str(reading.unit),
            "quality": str(quality),
            "reason": None if reason is None else str(reason),
            "age_s": round(max(0.0, now_s - reading.at_s), 6),
            **({"simulated": True} if simulated else {}),
        })  # fmt: skip
    return out


def as_lines(found: list[dict[str, Any]]) -> str:
    return "\n".join(json.dumps(row, separators=(",", ":")) for row in found)


def as_text(found: list[dict[str, Any]]) -> str:
    """One scan for people."""
    lines = []
    for row in found:
        value = "-" if row["value"] is None else f"{row['value']:.6g}"
        doubt = "" if row["quality"] == Quality.GOOD else f"  {row['quality']} {row['reason']}"
        lines.append(f"{row['rack']} {row['tag']:8} {value:>12} {row['unit']:6} {row['age_s']:7.3f} s{doubt}")
    return "\n".join([*lines, ""])

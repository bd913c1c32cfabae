"""What a probe found, as text for a terminal. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

_IS = {True: "is", False: "is not", None: "may be"}


def page(document: Mapping[str, Any]) -> str:
    """Return the document of ``probe -o json`` as text."""
    return "\n".join(_lines(document))


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    units = document["units"]
    yield f"{document['target']}{' ' + document['line'] if document['line'] else ''}: {len(units)} answering"
    if document["echoes"]:
        yield "  the adapter returns what is sent: local_echo: true"
    for unit in units:
        yield from _unit(unit)
    yield from _delays("replies", document["delays"])
    if document["written_profile"]:
        yield f"a starting profile was written to {document['written_profile']}: every point in it is to be checked"


def _unit(one: Mapping[str, Any]) -> Iterator[str]:
    also = "" if one["answers_as"] == one["unit"] else f", but as unit {one['answers_as']} (ignore_unit: true)"
    yield f"unit {one['unit']}: answers{also}"
    for name, text in (one["identification"] or {}).items():
        yield f"  0x2B {name}: {text}"
    if one["server_id"] is not None:
        yield f"  0x11 server id: {one['server_id']}"
    for match in one["matches"]:
        sound = f"{match['points_sound']} of {match['points']} points sound"
        how = {True: f"says {match['says']}", False: f"says {match['says']}", None: "has no identity"}
        yield f"  {_IS[match['identity']]} {match['profile']}: {how[match['identity']]}; {sound}"
        for name, text in match["reads_as_text"].items():
            yield f'    {name} reads as the text "{text}": its address is to be checked'
    if not one["matches"]:
        yield "  no known profile fits"
    for read in one["reads"]:
        yield from _read(read)
    for fit in one["fits"]:
        order = f" {fit['order']}" if fit["order"] else ""
        yield f"  fits: {fit['table']} {fit['address']} {fit['type']}{order}, scale {' or '.join(fit['fits'])}"
    for extent in one["extents"]:
        yield from _extent(extent)
    for conflict in one["conflicts"]:
        yield from _conflict(conflict)
    if one["repeated"] is not None:
        yield from _delays("repeated", one["repeated"])
    if (written := one.get("written")) is not None:
        done = written["error"] or f"taken; reads {written['reads']} now"
        yield f"  wrote {written['point']} = {written['value']}: {done}"


def _read(read: Mapping[str, Any]) -> Iterator[str]:
    place = f"  {read['table']} {read['address']}"
    if read["error"] is not None:
        yield f"{place}: {read['error']}"
        return
    text = f', text "{read["text"]}"' if read["text"] else ""
    yield f"{place}: {read.get('hex', '')} bits {read['bits']}{text}"
    for way in read["ways"]:
        raw = "no number" if way["raw"] is None else f"{way['raw']:.7g}" if way["type"] == "f32" else str(way["raw"])
        fits = f"   <- scale {' or '.join(way['fits'])}" if way["fits"] else ""
        yield f"      {way['type']:4} {way['order'] or '':4} {raw:>14}{fits}"


def _extent(extent: Mapping[str, Any]) -> Iterator[str]:
    runs = ", ".join(_stretch(run) for run in extent["runs"]) or "none"
    yield f"  {extent['table']} {extent['first']}..{extent['done_to']}: registers {runs}"
    if extent["holes"]:
        yield f"    holes {', '.join(_stretch(hole) for hole in extent['holes'])}"
    if extent["done_to"] < extent["last"]:
        yield f"    ended at {extent['done_to']}: too many requests; ask for a smaller range"
    bound = "" if extent["refused"] is not None else " at least"
    yield f"    longest read:{bound} {extent['most']}"


def _stretch(block: Mapping[str, int]) -> str:
    last = block["address"] + block["count"] - 1
    return str(last) if block["count"] == 1 else f"{block['address']}..{last}"


def _conflict(one: Mapping[str, Any]) -> Iterator[str]:
    decided = f"decided: {one['decided']}" if one["decided"] else "not decided"
    changed = f" (the profile has {one['used']})" if one["decided"] not in {None, one["used"]} else ""
    yield f"  conflict {one['conflict']}: {decided}{changed}; {one['about']}"
    for way in one["alternatives"]:
        values = ", ".join(f"{name} {'BAD' if v is None else f'{v:.6g}'}" for name, v in way["values"].items())
        yield f"    {way['name']} ({way['says']}): {values or 'nothing to read'}"
    if one["suggests"]:
        yield f"    only {one['suggests']} reads within its range: likely, not proven"
    if not one["decided"]:
        yield f"    to decide: {one['how']}"


def _delays(name: str, delays: Mapping[str, Any]) -> Iterator[str]:
    if not delays["answered"]:
        yield f"{name}: none"
        return
    p50, p95, p99, most = (delays[key] * 1000 for key in ("p50_s", "p95_s", "p99_s", "most_s"))
    yield (
        f"{name}: {delays['answered']} of {delays['answered'] + delays['unanswered']}, median {p50:.1f} ms, "
        f"p95 {p95:.1f}, p99 {p99:.1f}, most {most:.1f}; timeout_s: {delays['timeout_s']}"
    )
    tallest = max(row["count"] for row in delays["histogram"])
    for row in delays["histogram"]:
        bar = "#" * round(40 * row["count"] / tallest)
        yield f"  <= {row['to_s'] * 1000:6.0f} ms {row['count']:6} {bar}"

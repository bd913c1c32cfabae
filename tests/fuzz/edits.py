"""A file with a few of its words changed, as fuzzed bytes say: random bytes alone hardly ever make a YAML document."""

import re
from functools import cache
from pathlib import Path

_WORD = re.compile(rb"[^\s{}\[\],:#\"]+")
RAW = 0xFF
"""First byte of an input that is the whole file itself."""
# fmt: off
WORDS = (
    b"", b"null", b"true", b"0", b"-1", b"1", b"65535", b"65536", b"40001", b"1e308", b"-1e308", b".inf", b".nan", b"1e-300",
    b"0x10", b"010", b"{}", b"[]", b"[0, 0]", b"[1, 0]", b"\"\"", b"\"1\"", b"u16", b"s16", b"u32", b"s32", b"f32", b"bit", b"string",
    b"holding", b"input", b"coil", b"discrete", b"ABCD", b"CDAB", b"degC", b"kPa", b"L/min", b"-", b"%", b"XV-101", b"FT-101",
    b"SIF-1", b"fast", b"slow", b"127.0.0.1:502", b"a: b", b"? x", b"&a", b"*a", b"!!int", b"- -", b"\xc3\xa9", b"\xff", b"\x00",
)
# fmt: on


@cache
def _cut(base: bytes) -> tuple[tuple[int, int], ...]:
    return tuple(found.span() for found in _WORD.finditer(base))


@cache
def bases(paths: tuple[Path, ...]) -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for path in paths)


def edited(data: bytes, paths: tuple[Path, ...]) -> bytes:
    """Return the file that ``data`` says.

    First byte: RAW = the rest is the file; else which of ``paths``. Then up to eight edits: two bytes for the word, one
    for what takes its place (an entry of WORDS, or as many of the bytes that follow).
    """
    if not data or data[0] == RAW:
        return data[1:]
    base = bases(paths)[data[0] % len(paths)]
    words = _cut(base)
    edits: dict[int, bytes] = {}
    at = 1
    while at + 3 <= len(data) and len(edits) < 8:
        word, kind = int.from_bytes(data[at : at + 2], "big") % len(words), data[at + 2]
        at += 3
        if kind < len(WORDS):
            edits[word] = WORDS[kind]
        else:
            size = kind - len(WORDS)
            edits[word] = data[at : at + size]
            at += size
    out, end = [], 0
    for word in sorted(edits):
        first, after = words[word]
        out += [base[end:first], edits[word]]
        end = after
    return b"".join([*out, base[end:]])

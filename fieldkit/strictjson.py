"""JSON from strangers: bytes to one plain object, or the reason why not. Never an exception."""

import json
import re
from typing import Any

from fieldkit.errors import Refusal

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


class _RefusedError(Exception):
    def __init__(self, code: str, reason: str, would_allow: str) -> None:
        super().__init__(reason)
        self.code, self.reason, self.would_allow = code, reason, would_allow


def decode(payload: bytes, most_bytes: int, most_depth: int) -> dict[str, Any] | Refusal:
    """Return the object in ``payload``, or a Refusal with code ``too_long``, ``not_utf8``, ``not_json``,
    ``too_deep``, ``duplicate_key``, ``not_finite``, ``not_text`` or ``not_an_object``.

    ``about`` of the refusal is the object's ``id`` when it has one that can be read.
    """
    doubled: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key, value in items:
            if key in out:
                doubled.append(key)
            out.setdefault(key, value)
        return out

    try:
        text = _text(payload, most_bytes, most_depth)
        data = json.loads(text, object_pairs_hook=pairs, parse_constant=_constant, parse_float=_float, parse_int=_int)
        json.dumps(data, ensure_ascii=False).encode()
    except _RefusedError as error:
        return Refusal(error.code, error.reason, error.would_allow)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        return Refusal("not_json", f"the payload is not JSON: {error.msg} at {place}", "one JSON object")
    except UnicodeEncodeError:
        return Refusal("not_text", "a text holds half a surrogate pair", "whole Unicode characters")
    if not isinstance(data, dict):
        return Refusal("not_an_object", f"the payload is {_kind(data)}", "one JSON object")
    if doubled:
        named = ", ".join(repr(key) for key in doubled)
        about = None if "id" in doubled else id_in(data)
        return Refusal("duplicate_key", f"these keys stand twice: {named}", "each key once", about)
    return data


def id_in(data: dict[str, Any]) -> str | None:
    """Return the ``id`` of a message when it is a text of a length that can be answered, else None."""
    value = data.get("id")
    return value if isinstance(value, str) and 0 < len(value) <= 64 and value.isprintable() else None


def _text(payload: bytes, most_bytes: int, most_depth: int) -> str:
    if len(payload) > most_bytes:
        raise _RefusedError("too_long", f"the payload has {len(payload)} bytes", f"at most {most_bytes} bytes")
    try:
        text = payload.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _RefusedError("not_utf8", f"byte {error.start} is not UTF-8", "UTF-8 text") from error
    depth = deepest = 0
    for mark in re.findall(r"[][{}]", _STRING.sub("", text)):
        depth += 1 if mark in "[{" else -1
        deepest = max(deepest, depth)
    if deepest > most_depth:
        raise _RefusedError("too_deep", f"the payload is {deepest} levels deep", f"at most {most_depth} levels")
    return text


def _constant(name: str) -> float:
    raise _RefusedError("not_finite", f"{name} is no JSON number", "finite numbers, null for none")


def _float(digits: str) -> float:
    value = float(digits)
    if value in {float("inf"), float("-inf")}:
        raise _RefusedError("not_finite", f"{digits} is too big for a number", "finite numbers")
    return value


def _int(digits: str) -> int:
    if len(digits.lstrip("-")) > 19:
        raise _RefusedError("not_finite", f"an integer has {len(digits)} digits", "integers of at most 19 digits")
    return int(digits)


def _kind(data: object) -> str:
    return {list: "a list", str: "a text", bool: "true or false", type(None): "null"}.get(type(data), "a number")

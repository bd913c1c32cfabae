"""What was measured against what a line expects. Pure; what is missing is never taken for good."""

import math
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from fieldkit.point import Point, WordOrder
from fieldkit.probing.guesses import guesses
from fieldkit.words import encode
from valvey.commissioning.line import (
    COIL_S,
    EXPIRY_SLACK,
    EXPIRY_SLACK_S,
    TWO_WORDS,
    WAIVABLE,
    Facts,
    Kind,
    Line,
    is_off,
)


class Verdict(StrEnum):
    """PASS and WAIVED are done; FAIL and OPEN are not."""

    PASS = "pass"  # ruff: ignore[hardcoded-password-string] - not a password
    FAIL = "fail"
    WAIVED = "waived"
    OPEN = "open"
    """Not tried, or broken off."""


def judge(line: Line, measured: Facts) -> tuple[Verdict, str]:
    """Return the verdict on what was measured, and why where it is no pass."""
    faults = _JUDGES[line.kind](line.expected, measured)
    return (Verdict.FAIL, "; ".join(faults)) if faults else (Verdict.PASS, "")


def may_waive(line: Line) -> bool:
    return line.kind in WAIVABLE


def orders_of(point: Point, order: WordOrder, value: float) -> dict[str, float | None]:
    """What the two registers that read ``value`` would say in each word order; None for what is no number.

    Empty for a point that fills one register, and for a value that the point could not be written as.
    """
    if point.type not in TWO_WORDS or point.scale_by is not None:
        return {}
    try:
        words = encode(point.model_copy(update={"writable": True}), value, order)
    except ValueError:
        return {}
    factor, offset = point.conversion
    data = b"".join(word.to_bytes(2, "big") for word in words)
    found = {one.order: one.raw for one in guesses("", 0, data) if one.type is point.type and one.order is not None}
    return {str(name): None if raw is None else round(raw * factor + offset, 6) for name, raw in found.items()}


def telling(orders: Mapping[str, float | None], order: str, allowed: float) -> bool:
    """Whether a value tells its own word order from every other: no other says nearly the same."""
    own = orders.get(order)
    if own is None:
        return False
    others = [value for name, value in orders.items() if name != order]
    return all(value is None or not math.isfinite(value) or abs(value - own) > allowed for value in others)


def _device(_expected: Facts, measured: Facts) -> list[str]:
    out = [] if measured.get("matches") is True else [f"says it is {measured.get('identity')!r}: another device"]
    return out + ([] if measured.get("said") is True else ["a person does not find this device at its place"])


def _apart(measured: Facts) -> list[str]:
    reading, said, allowed = (measured.get(key) for key in ("reading", "said", "tolerance"))
    if not isinstance(reading, float):
        return [f"cannot be read: {measured.get('quality')}"]
    if not isinstance(said, float) or not isinstance(allowed, float):
        return ["nobody read the device"]
    if abs(reading - said) <= allowed:
        return []
    return [f"reads {reading:g}, the device shows {said:g}: {abs(reading - said):g} apart, allowed {allowed:g}"]


def _point(_expected: Facts, measured: Facts) -> list[str]:
    return ["the device shows something else"] if measured.get("same") is False else _apart(measured)


def _order(expected: Facts, measured: Facts) -> list[str]:
    if faults := _point(expected, measured):
        return faults
    orders, allowed = measured.get("orders"), measured["tolerance"]
    if isinstance(orders, Mapping) and telling(orders, expected["order"], allowed):
        return []
    return [f"{measured.get('point')} reads {measured.get('reading')} in more than one word order"]


def _contact(_expected: Facts, measured: Facts) -> list[str]:
    out = [] if is_off(measured.get("rest")) else [f"does not rest at 0 but at {measured.get('rest')}"]
    out += [] if measured.get("operated_s") is not None else ["was not seen to act"]
    return out + ([] if measured.get("back_s") is not None else ["was not seen to go back"])


def _leak(expected: Facts, measured: Facts) -> list[str]:
    out = [] if is_off(measured.get("rest")) else [f"is not dry at the beginning: {measured.get('rest')}"]
    out += [] if measured.get("wet_s") is not None else ["stayed dry"]
    out += [] if measured.get("dry_s") is not None else ["was not seen to dry"]
    if others := measured.get("others"):
        out.append(f"another zone told of it: {_names(others)}")
    distance = measured.get("distance_m")
    if expected["distance"] and not (isinstance(distance, float) and distance > 0.0):
        out.append("no distance was told")
    return out


def _valve(expected: Facts, measured: Facts) -> list[str]:
    out = _within("its coil", measured.get("coil_s"), 0.0, COIL_S, "was energised")
    most_s = expected["opens_within_s"]
    out += _within("it", measured.get("opens_s"), 0.0, most_s, "opened")
    low_s, high_s = expected["shuts_s"]
    out += _within("it", measured.get("shuts_s"), low_s, high_s, "shut")
    if others := measured.get("others"):
        out.append(f"others moved with it: {_names(others)}")
    return out


def _throttle(expected: Facts, measured: Facts) -> list[str]:
    out = [] if measured.get("opens_s") is not None else [f"did not reach {expected['to_pct']:g} %"]
    return out + ([] if measured.get("shuts_s") is not None else ["did not go back to 0 %"])


def _permit(expected: Facts, measured: Facts) -> list[str]:
    out = []
    for key, limit in (
        ("coil_on_s", "coil_within_s"), ("contactor_on_s", "contactor_within_s"),
        ("coil_off_s", "coil_within_s"), ("contactor_off_s", "contactor_within_s"),
    ):  # fmt: skip
        what, _, way = key.removesuffix("_s").partition("_")
        out += _within(f"the {what}", measured.get(key), 0.0, expected[limit], f"went {way}")
    volts = measured.get("busbar_most_v")
    if not isinstance(volts, float) or volts > expected["busbar_below_v"]:
        out.append(f"the bus-bar was not dead: {volts} V")
    return out


def _interlock(expected: Facts, measured: Facts) -> list[str]:
    return _within("the coil", measured.get("fell_s"), 0.0, expected["within_s"], "fell")


def _expiry(expected: Facts, measured: Facts) -> list[str]:
    out = []
    for tag, declared_s in expected.items():
        if not isinstance(declared_s, float):
            out.append(f"{tag}: its device declares no expiry")
            continue
        slack_s = max(EXPIRY_SLACK_S, EXPIRY_SLACK * declared_s)
        out += _within(tag, measured.get(tag), declared_s - slack_s, declared_s + slack_s, "went off by itself")
    permit_s, valves_s = measured.get("XS-101"), [measured.get(tag) for tag in ("XV-101", "XV-102")]
    if isinstance(permit_s, float) and any(isinstance(one, float) and one <= permit_s for one in valves_s):
        out.append("a valve went before the permit")
    return out


def _cdu(expected: Facts, measured: Facts) -> list[str]:
    said, limit = measured.get("said"), expected["pt_101_below_kpa"]
    if not isinstance(said, float):
        return ["nobody has seen two racks isolated"]
    return [] if said < limit else [f"{said:g} kPa is not below {limit:g}: this mode of the CDU is refused"]


def _within(what: str, took_s: Any, low_s: float, high_s: float, did: str) -> list[str]:
    bounds = f"within {high_s:g} s" if low_s <= 0.0 else f"after {low_s:g} to {high_s:g} s"
    if not isinstance(took_s, float):
        return [f"{what} never {did}, expected {bounds}"]
    return [] if low_s <= took_s <= high_s else [f"{what} {did} after {took_s:.2f} s, expected {bounds}"]


def _names(value: Any) -> str:
    return ", ".join(map(str, value))


_JUDGES: dict[Kind, Callable[[Facts, Facts], list[str]]] = {
    Kind.DEVICE: _device,
    Kind.POINT: _point,
    Kind.ORDER: _order,
    Kind.CONTACT: _contact,
    Kind.LEAK: _leak,
    Kind.VALVE: _valve,
    Kind.THROTTLE: _throttle,
    Kind.PERMIT: _permit,
    Kind.INTERLOCK: _interlock,
    Kind.EXPIRY: _expiry,
    Kind.CDU: _cdu,
}

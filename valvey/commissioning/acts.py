"""What is done for each kind of line, and what is measured of it. Nothing is judged here."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from valvey.commissioning.door import Demand, valves
from valvey.commissioning.hand import Hand
from valvey.commissioning.line import COIL_S, CONTACTOR_S, DRY_S, THROTTLE_PCT, Kind, Line, is_off, is_on
from valvey.core.chart import State
from valvey.needs import READ_BACK

Tell = Callable[[str], None]
Measured = dict[str, Any]

BOTH = ("XV-101", "XV-102")
CLOSED = ("ZSC-101", "ZSC-102", "ZSC-103", "ZSC-104")
DARK_S = 2.0
"""How long the bus-bar is watched under a permit: shelves start within half a second."""
PATIENCE_S = 2.0
"""Beyond what a line allows, so that what is late is measured and not only missed."""


async def act_on(line: Line, hand: Hand, tell: Tell, wait_s: float) -> Measured:
    """Do what ``line`` asks for. Raises BrokenOffError."""
    return await hand.act(lambda one: _ACTS[line.kind](line, one, tell, wait_s))


def _on(hand: Hand, tag: str) -> Callable[[], bool]:
    return lambda: is_on(hand.seen(tag))


def _off(hand: Hand, tag: str) -> Callable[[], bool]:
    return lambda: is_off(hand.seen(tag))


async def _contact(line: Line, hand: Hand, tell: Tell, wait_s: float) -> Measured:
    tag = line.subject
    rest = hand.seen(tag)
    tell(f"{tag}: operate it now; waiting up to {wait_s:g} s")
    operated_s = await hand.until(_on(hand, tag), wait_s) if is_off(rest) else None
    back_s = None
    if operated_s is not None:
        tell(f"{tag}: seen. Put it back now")
        back_s = await hand.until(_off(hand, tag), wait_s)
    return {"rest": rest, "operated_s": operated_s, "back_s": back_s}


async def _leak(line: Line, hand: Hand, tell: Tell, wait_s: float) -> Measured:
    """Wait for the wet zone, remember whoever else tells, wait for it to dry."""
    tag, rest = line.subject, hand.seen(line.subject)
    zones = [one for one in hand.config.detectors if one != tag and one in hand.config.data.tags]
    distance_tag = tag.replace("LDT", "LDX")
    others: set[str] = set()
    distance: float | None = None

    def look() -> bool:
        nonlocal distance
        others.update(one for one in zones if is_on(hand.seen(one)))
        if line.expected["distance"]:
            distance = hand.seen(distance_tag) or distance
        return is_on(hand.seen(tag))

    found: Measured = {"rest": rest, "wet_s": None, "dry_s": None}
    if is_off(rest):
        delay_s = line.expected["delay_s"]
        tell(f"{tag}: wet it now; its panel waits {delay_s:g} s; waiting up to {wait_s + delay_s:g} s")
        found["wet_s"] = await hand.until(look, wait_s + delay_s)
        if found["wet_s"] is not None:
            await hand.until(lambda: look() and False, 1.0)  # another zone, or the distance, may come a moment later
            tell(f"{tag}: told wet. Dry it now")
            found["dry_s"] = await hand.until(_off(hand, tag), wait_s + DRY_S)
    return found | {"others": tuple(sorted(others)), "distance_m": distance}


async def _valve(line: Line, hand: Hand, tell: Tell, _wait_s: float) -> Measured:
    """Open one valve alone, see its limits, and let its spring shut it."""
    valve, number = line.subject, line.subject[-3:]
    shut_tag, open_tag = f"ZSC-{number}", f"ZSO-{number}"
    small = open_tag not in hand.config.data.tags
    opened = (lambda: is_off(hand.seen(shut_tag))) if small else (lambda: is_on(hand.seen(open_tag)))
    others = [tag for tag in CLOSED if tag != shut_tag and tag in hand.config.data.tags]
    moved: set[str] = set()

    def also() -> None:
        moved.update(tag for tag in others if is_off(hand.seen(tag)))

    most_s = line.expected["opens_within_s"]
    demand = valves(State.DRAINING if small else State.TESTING, valve)
    tell(f"{valve}: opens now")
    hand.want(demand)
    coil_s = await hand.until(_on(hand, READ_BACK[valve]), COIL_S + PATIENCE_S)
    opens_s = await hand.until(opened, most_s + PATIENCE_S)
    await hand.watch(1.0, also)
    tell(f"{valve}: shuts now")
    hand.want(valves(demand.work))
    shuts_s = await hand.until(_on(hand, shut_tag), line.expected["shuts_s"][1] + PATIENCE_S)
    return {"coil_s": coil_s, "opens_s": _sum(coil_s, opens_s), "shuts_s": shuts_s, "others": tuple(sorted(moved))}


async def _throttle(_line: Line, hand: Hand, tell: Tell, _wait_s: float) -> Measured:
    limits = hand.limits
    found_pct = hand.seen("ZT-101")
    most_s = 1.5 * limits.fcv_stroke_s * THROTTLE_PCT / 100.0 + 10.0

    def at(pct: float) -> Callable[[], bool]:
        def is_there() -> bool:
            shown = hand.seen("ZT-101")
            return shown is not None and abs(shown - pct) <= limits.fcv_band_pct

        return is_there

    tell(f"FCV-101: shuts, opens to {THROTTLE_PCT:g} % and shuts again; up to {limits.fcv_stroke_s:g} s")
    hand.want(valves(State.FILLING))
    await hand.until(at(0.0), 1.2 * limits.fcv_stroke_s)
    hand.want(valves(State.FILLING, fcv_pct=THROTTLE_PCT))
    opens_s = await hand.until(at(THROTTLE_PCT), most_s)
    reached_pct = hand.seen("ZT-101")
    hand.want(valves(State.FILLING))
    shuts_s = await hand.until(at(0.0), most_s)
    return {"found_pct": found_pct, "opens_s": opens_s, "reached_pct": reached_pct, "shuts_s": shuts_s}


async def _powered(hand: Hand, tell: Tell) -> tuple[Demand, Measured]:
    """Open both valves behind a shut FCV-101 (the wiring asks for them), and raise the permit."""
    tell("XV-101 and XV-102 open behind a shut FCV-101, then the permit rises")
    hand.want(valves(State.TESTING, *BOTH))
    most_s = 2.0 * max(hand.limits.stroke_101_s, hand.limits.stroke_102_s) + PATIENCE_S
    demand = valves(State.FLOWING, *BOTH, permit=True)
    if await hand.until(lambda: is_on(hand.seen("ZSO-101")) and is_on(hand.seen("ZSO-102")), most_s) is None:
        return demand, {"coil_on_s": None, "contactor_on_s": None}
    hand.want(demand)
    coil_s = await hand.until(_on(hand, "XSY-101"), COIL_S + PATIENCE_S)
    contactor_s = await hand.until(_on(hand, "XI-101"), CONTACTOR_S + PATIENCE_S)
    return demand, {"coil_on_s": coil_s, "contactor_on_s": contactor_s}


async def _permit(_line: Line, hand: Hand, tell: Tell, _wait_s: float) -> Measured:
    _, found = await _powered(hand, tell)
    if found["contactor_on_s"] is None:
        return found
    most_v = 0.0

    def look() -> None:
        nonlocal most_v
        most_v = max(most_v, hand.seen("EV-101") or 0.0)

    await hand.watch(DARK_S, look)
    tell("the permit falls")
    # The contactor may still be seen closed while it opens: the demand counts as powered until it is seen open.
    hand.want(Demand(State.FLOWING, valves(State.FLOWING, *BOTH).outputs, powered=True))
    found["coil_off_s"] = await hand.until(_off(hand, "XSY-101"), COIL_S + PATIENCE_S)
    found["contactor_off_s"] = await hand.until(_off(hand, "XI-101"), CONTACTOR_S + PATIENCE_S)
    return found | {"busbar_most_v": most_v}


async def _interlock(line: Line, hand: Hand, tell: Tell, wait_s: float) -> Measured:
    return await (_w1(hand, tell, wait_s) if line.subject == "W1" else _w2(line, hand, tell))


async def _w1(hand: Hand, tell: Tell, wait_s: float) -> Measured:
    """Hold XV-101 open and have the button pressed: its coil falls although its command stands."""
    hand.want(Demand(State.TESTING, valves(State.TESTING, "XV-101").outputs, stop=True))
    energised = await hand.until(_on(hand, "XY-101"), COIL_S + PATIENCE_S) is not None
    tell(f"HS-101: press the emergency stop now; waiting up to {wait_s:g} s")
    pressed_s = await hand.until(_on(hand, "HS-101"), wait_s) if energised else None
    fell_s = None if pressed_s is None else await hand.until(_off(hand, "XY-101"), COIL_S + PATIENCE_S)
    tell("HS-101: release and reset it now")
    hand.want(Demand(State.TESTING, valves(State.TESTING).outputs, stop=True))
    reset_s = await hand.until(_off(hand, "HS-101"), wait_s)
    return {"pressed_s": pressed_s, "fell_s": fell_s, "reset_s": reset_s}


async def _w2(line: Line, hand: Hand, tell: Tell) -> Measured:
    """Shut XV-101 under a standing permit command: the coil falls by the wire, although its command stands."""
    demand, found = await _powered(hand, tell)
    if found["contactor_on_s"] is None:
        return {"fell_s": None}
    tell("XV-101 shuts under the standing permit")
    standing = valves(State.FLOWING, "XV-102", permit=True)
    hand.want(Demand(demand.work, standing.outputs, powered=True))
    return {"fell_s": await hand.until(_off(hand, "XSY-101"), line.expected["within_s"] + PATIENCE_S)}


async def _expiry(line: Line, hand: Hand, tell: Tell, _wait_s: float) -> Measured:
    """Stop all writes and measure from the last acknowledged one until each coil is read back off."""
    if line.subject == "service":
        demand, found = await _powered(hand, tell)
        if found["contactor_on_s"] is None:
            return dict.fromkeys(line.expected)
    else:
        demand = valves(State.DRAINING, line.subject)
        hand.want(demand)
        await hand.until(_on(hand, READ_BACK[line.subject]), COIL_S + PATIENCE_S)
    longest_s = 1.3 * max(line.expected.values()) + PATIENCE_S
    tell(f"silence: nothing is written any more; up to {longest_s:.0f} s")
    last_s = await hand.silence(demand)
    off_s: dict[str, float | None] = dict.fromkeys(line.expected)

    def look() -> bool:
        for tag, known_s in off_s.items():
            reading = hand.reading(READ_BACK[tag])
            if known_s is None and is_off(hand.seen(READ_BACK[tag])):
                off_s[tag] = reading.at_s - last_s
        return None not in off_s.values()

    await hand.until(look, longest_s)
    return dict(off_s)


def _sum(first_s: float | None, then_s: float | None) -> float | None:
    return None if first_s is None or then_s is None else first_s + then_s


_ACTS: Mapping[Kind, Callable[[Line, Hand, Tell, float], Awaitable[Measured]]] = {
    Kind.CONTACT: _contact,
    Kind.LEAK: _leak,
    Kind.VALVE: _valve,
    Kind.THROTTLE: _throttle,
    Kind.PERMIT: _permit,
    Kind.INTERLOCK: _interlock,
    Kind.EXPIRY: _expiry,
}

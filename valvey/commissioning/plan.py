"""What has to be shown of a rack before it is armed: one line for each, from its configuration alone."""

from collections.abc import Iterable
from dataclasses import replace

from fieldkit.tag import BY_TAG, Signal
from valvey.commissioning.line import COIL_S, CONTACTOR_S, SMALL_VALVE_S, THROTTLE_PCT, TWO_WORDS, Facts, Kind, Line
from valvey.config_rack import RackConfig
from valvey.needs import READ_BACK

_CONTACTS = ("HS-101", "HS-102", "LSH-203", "US-201")
_NOT_SHOWN = {
    "LDA": "contamination: dirt on the rope, and two minutes of the panel's own delay",
    "XK": "the partial stroke needs a rack in service: `valvey request stroke` shows it",
}


def lines_of(config: RackConfig) -> tuple[Line, ...]:
    """Everything that this rack has to show, in the order in which it is done."""
    lines = (
        *_devices(config),
        *_points(config),
        *_orders(config),
        *_contacts(config),
        *_leaks(config),
        *_valves(config),
        *_permit(config),
        *_expiries(config),
        *_cdu(config),
    )
    return tuple(replace(line, buses=_buses(config, line)) for line in lines)


def not_covered(config: RackConfig) -> dict[str, str]:
    """What no line speaks for, with the reason."""
    spoken = {tag for line in lines_of(config) for tag in line.tags}
    left: dict[str, str] = {}
    for tag in config.data.tags.keys() - spoken:
        left[tag] = next((why for start, why in _NOT_SHOWN.items() if tag.startswith(start)), "no line speaks for it")
    left |= {f"TRAY-{name}": "its flag comes over the broker, not over the field" for name in config.data.trays}
    return dict(sorted(left.items()))


def _buses(config: RackConfig, line: Line) -> frozenset[str]:
    own = {line.subject} if line.subject in config.data.buses else set()
    return frozenset(own | {config.data.tags[tag].bus for tag in line.tags if tag in config.data.tags})


def _has(config: RackConfig, tags: Iterable[str]) -> tuple[str, ...]:
    return tuple(tag for tag in tags if tag in config.data.tags)


def _line(kind: Kind, subject: str, what: str, expected: Facts, *tags: str) -> Line:
    return Line(f"{kind}/{subject}", kind, subject, what, expected, tags)


def _devices(config: RackConfig) -> Iterable[Line]:
    for name in config.data.buses:
        profile = config.profiles[name]
        expect = None if profile.identity is None else profile.identity.expect
        yield _line(
            Kind.DEVICE, name, "is this the device with that label?", {"profile": profile.profile, "identity": expect}
        )


def _points(config: RackConfig) -> Iterable[Line]:
    for tag, place in config.inputs.items():
        row = BY_TAG[tag]
        if row.signal is Signal.ANALOGUE and tag not in {"LDX-103", "ZT-101"}:
            unit = str(config.profiles[place.bus].points[place.point].reading_unit)
            what = f"{row.description}: what does the device itself show, in {unit}?"
            yield _line(Kind.POINT, tag, what, {"unit": unit}, tag)


def _orders(config: RackConfig) -> Iterable[Line]:
    """One line for each device whose values fill two registers: two of their orders give a number each, one is right."""
    for name, profile in config.profiles.items():
        used = {place.point for place in config.inputs.values() if place.bus == name}
        if any(profile.points[point].type in TWO_WORDS for point in used):
            what = "a value that is not 0, read off the device's own display"
            yield _line(Kind.ORDER, name, what, {"order": str(profile.word_order)})


def _contacts(config: RackConfig) -> Iterable[Line]:
    for tag in _has(config, _CONTACTS):
        row = BY_TAG[tag]
        yield _line(Kind.CONTACT, tag, f"{row.description}: operate it, then put it back", {"means": row.means}, tag)


def _leaks(config: RackConfig) -> Iterable[Line]:
    for tag in sorted(tag for tag in config.inputs if tag.startswith("LDT-1")):
        place = config.data.tags[tag]
        distance = _has(config, (tag.replace("LDT", "LDX"),))
        expected = {"delay_s": place.delay_s or 0.0, "distance": bool(distance)}
        yield _line(
            Kind.LEAK,
            tag,
            f"{BY_TAG[tag].description}: wet it, then dry it; no other may tell",
            expected,
            tag,
            *distance,
        )


def _valves(config: RackConfig) -> Iterable[Line]:
    limits = config.data.limits
    for number, stroke_s in (("101", limits.stroke_101_s), ("102", limits.stroke_102_s)):
        expected = {"opens_within_s": 2.0 * stroke_s, "shuts_s": (0.5 * stroke_s, 1.5 * stroke_s)}
        tags: tuple[str, ...] = (f"XV-{number}", f"ZSO-{number}", f"ZSC-{number}", f"XY-{number}")
        yield _line(Kind.VALVE, f"XV-{number}", "opens fully and shuts again, alone", expected, *_has(config, tags))
    for number in ("103", "104"):
        expected = {"opens_within_s": SMALL_VALVE_S, "shuts_s": (0.0, SMALL_VALVE_S)}
        tags = (f"XV-{number}", f"ZSC-{number}", f"XY-{number}")
        if f"ZSC-{number}" in config.data.tags:
            what = f"leaves its shut limit and shuts again; {'liquid runs out' if number == '103' else 'it vents'}"
            yield _line(Kind.VALVE, f"XV-{number}", what, expected, *_has(config, tags))
    expected = {"to_pct": THROTTLE_PCT, "within_pct": limits.fcv_band_pct}
    yield _line(
        Kind.THROTTLE,
        "FCV-101",
        f"opens to {THROTTLE_PCT:g} % and shuts",
        expected,
        *_has(config, ("FCV-101", "ZT-101")),
    )


def _permit(config: RackConfig) -> Iterable[Line]:
    expected = {
        "coil_within_s": COIL_S,
        "contactor_within_s": CONTACTOR_S,
        "busbar_below_v": config.data.limits.dead_busbar_v,
    }
    tags = _has(config, ("XS-101", READ_BACK["XS-101"], "XI-101"))
    yield _line(
        Kind.PERMIT,
        "XS-101",
        "permit on and off, on a bus-bar that stays dead: the feeder is LOCKED OFF",
        expected,
        *tags,
    )
    wired = {wire for wire, how in config.data.wiring.items() if how == "wired"}
    if "W1" in wired:
        what = "the emergency stop is pressed under an open XV-101: the wiring drops its coil"
        yield _line(Kind.INTERLOCK, "W1", what, {"within_s": COIL_S}, "XV-101", "XY-101", "HS-101")
    if "W2" in wired:
        what = "XV-101 shuts under a standing permit command: the wiring drops the permit"
        within_s = 1.5 * config.data.limits.stroke_101_s + COIL_S
        yield _line(Kind.INTERLOCK, "W2", what, {"within_s": within_s}, "XS-101", "XSY-101", "ZSC-101")


def _expiries(config: RackConfig) -> Iterable[Line]:
    """All outputs of the service at once, in one silence; a drain or vent valve alone, where it has a timer of its own."""
    together = {tag: config.expiry_s(tag) for tag in ("XS-101", "XV-101", "XV-102")}
    what = "all writes stop: the permit falls, then the valves shut, each in its own time"
    yield _line(Kind.EXPIRY, "service", what, together, *together)
    timers = {_timer(config, tag) for tag in together}
    for tag in ("XV-103", "XV-104"):
        if _timer(config, tag) not in timers:
            yield _line(Kind.EXPIRY, tag, "all writes stop: it shuts", {tag: config.expiry_s(tag)}, tag)


def _timer(config: RackConfig, tag: str) -> tuple[str, str | None]:
    place = config.data.tags[tag]
    return place.bus, config.profiles[place.bus].outputs[place.point].expiry


def _cdu(config: RackConfig) -> Iterable[Line]:
    if config.data.loop not in {None, "none"}:
        what = (
            "the highest PT-101 of any rack, in kPa, while two racks were isolated in the CDU's present mode "
            "(`valvey request isolate --plan` predicts it)"
        )
        yield _line(Kind.CDU, "mode", what, {"pt_101_below_kpa": config.data.limits.supply_hh_kpa})

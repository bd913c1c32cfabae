"""What the parts of a rack's file say together: buses, tags, outputs. ``config_check_times`` judges the numbers."""

from collections import Counter

from fieldkit.config_draft import Draft
from fieldkit.errors import nearest
from fieldkit.point import Point, PointType
from fieldkit.profile import Profile
from fieldkit.tag import BY_TAG, Owner, Signal
from fieldkit.units import Unit
from valvey.config_check_buses import check_buses
from valvey.config_check_times import check_times
from valvey.config_models import RackFile, TagPlace
from valvey.config_rack import RackConfig
from valvey.needs import (
    EXPIRING,
    FAST,
    LAGGING,
    MAYBE_OUTPUTS,
    OUTPUT_TAGS,
    READ_BACK,
    THROTTLE,
    VALVE_BLOCK,
    WIRING,
    needed,
)


def check(draft: Draft[RackFile], config: RackConfig, named: bool) -> None:
    """Add to the draft every fault that shows only when its parts are seen together.

    named  the leak policy is whole, so that a detector that no rule names is one
    """
    _switches(draft, config)
    check_buses(draft, config)
    _tags(draft, config)
    _outputs(draft, config)
    _missing(draft, config)
    if named:
        _detectors(draft, config)
    check_times(draft, config)


def _switches(draft: Draft[RackFile], config: RackConfig) -> None:
    data = config.data
    if data.speed is not None and not data.simulated:
        draft.add(("speed",), "time runs as it runs on a real rack", "speed only with simulated: true")
    if data.coordinator is not None and data.mqtt is None and not draft.has(("mqtt",)):
        message = f"{data.loop} is asked over MQTT, and this rack has no broker"
        draft.add(("loop",), message, "mqtt: {host, port}, or none")
    if data.loop is None and data.armed and not data.simulated:
        allowed = "the coordinator's name, or none: nobody shares this rack's loop"
        draft.add(("loop",), "is missing: an armed rack says who coordinates its loop", allowed)
    for wire, text in WIRING.items():
        if wire not in data.wiring:
            draft.add(("wiring", wire), f"wiring {wire} is not declared: {text}", "wired, or {waived_by: a person}")
    for name, times in Counter(data.trays).items():
        if times > 1:
            draft.add(("trays",), f"tray {name} stands {times} times", "each tray once")


def _tags(draft: Draft[RackFile], config: RackConfig) -> None:
    taken: dict[tuple[str, str], str] = {}
    for tag, place in config.data.tags.items():
        at = ("tags", tag)
        row = BY_TAG.get(tag)
        if (row is None and not tag.startswith(("LDT-1", "LDA-1"))) or (row is not None and row.signal is Signal.WIRED):
            known = [name for name, one in BY_TAG.items() if one.signal is not Signal.WIRED]
            draft.add(
                at,
                f"{tag} is no tag of a rack that can be read or written",
                "the tags in docs/generated/glossary.md",
                nearest(tag, known),
            )
            continue
        _lane(draft, tag, place, loop=row is not None and row.owner is Owner.LOOP and config.data.shared_path is None)
        if place.bus not in config.data.buses:
            if not draft.has(("buses", place.bus)) and ("buses",) not in draft.gone:
                draft.add(
                    (*at, "bus"),
                    f"no bus is called {place.bus}",
                    ", ".join(config.data.buses),
                    nearest(place.bus, config.data.buses),
                )
            continue
        other = taken.setdefault((place.bus, place.point), tag)
        if other != tag:
            draft.add((*at, "point"), f"{place.bus} {place.point} feeds {other} already", "one tag a point")
        profile = config.profiles.get(place.bus)
        if profile is None:
            continue
        point = profile.points.get(place.point)
        if point is None:
            fitting = [name for name, one in profile.points.items() if _fits(one, tag)]
            draft.add(
                (*at, "point"),
                f"profile {profile.profile} has no point {place.point!r}",
                ", ".join(fitting),
                nearest(place.point, profile.points),
            )
        elif not _fits(point, tag):
            wanted = row.unit if row is not None else Unit.NONE
            what = "text" if point.type is PointType.STRING else point.reading_unit
            draft.add(
                (*at, "point"),
                f"wrong unit: {tag} is in {wanted}, {place.point} of {profile.profile} is in {what}",
                f"a point in {wanted}",
            )
        elif _is_contact(tag) and point.range is not None and not (0 <= point.range[0] <= point.range[1] <= 1):
            low, high = point.range
            draft.add(
                (*at, "point"),
                f"{tag} is a contact, {place.point} of {profile.profile} is a number from {low:g} to {high:g}",
                "a bit, a number that is 0 or 1, or one with bands: which values mean 1, and which 0",
            )
        elif tag in OUTPUT_TAGS and (not point.writable or place.point not in profile.outputs):
            draft.add(
                (*at, "point"),
                f"{place.point} of {profile.profile} is no output",
                ", ".join(profile.outputs) or "a device with outputs",
            )


def _is_contact(tag: str) -> bool:
    row = BY_TAG.get(tag)
    return tag.startswith(("LDT-1", "LDA-1")) if row is None else row.signal in {Signal.CONTACT, Signal.READ_BACK}


def _fits(point: Point, tag: str) -> bool:
    row = BY_TAG.get(tag)
    return point.type is not PointType.STRING and point.reading_unit is (Unit.NONE if row is None else row.unit)


def _lane(draft: Draft[RackFile], tag: str, place: TagPlace, *, loop: bool) -> None:
    at = ("tags", tag)
    if tag in OUTPUT_TAGS:
        if place.lane is not None:
            draft.add(
                (*at, "lane"),
                f"{tag} is an output: it is written, not read",
                f"no lane; {READ_BACK.get(tag, 'ZT-101')} is what is read",
            )
        return
    if place.lane is None:
        draft.add((*at, "lane"), "is missing", "fast, normal, slow")
    elif place.lane != "fast" and tag in FAST:
        draft.add((*at, "lane"), f"{tag} acts within fractions of a second", "fast")
    elif place.lane == "slow" and tag in needed():
        draft.add((*at, "lane"), f"{tag} is needed by {', '.join(needed()[tag])}", "fast, normal")
    elif place.lane == "fast" and loop:
        draft.add(
            (*at, "lane"),
            f"{tag} is read by every rack of the loop: two racks' fast lanes would share its device",
            "normal, slow, or shared_path: {accepted_by: a person}",
        )
    if tag in LAGGING and place.lag_s is None:
        draft.add((*at, "lag_s"), "is missing: response times depend on it", "the sensor's time constant in s")
    if tag.startswith("LDT-1") and place.delay_s is None:
        draft.add(
            (*at, "delay_s"), "is missing: response times depend on it", "what the panel waits before it says wet, in s"
        )
    if place.norm is not None and place.norm[0] >= place.norm[1]:
        draft.add((*at, "norm"), "the band does not rise", "[low, high] in the tag's unit")


def _outputs(draft: Draft[RackFile], config: RackConfig) -> None:
    found: dict[str, tuple[str, Profile, Point]] = {}
    for tag, place in config.outputs.items():
        profile = config.profiles.get(place.bus)
        if profile is None or place.point not in profile.outputs:
            continue
        output = profile.outputs[place.point]
        if tag in EXPIRING and (why := _holds(profile, place.point)) is not None:
            draft.add(
                ("tags", tag),
                f"{why}: a device whose outputs hold for ever may not carry {tag}",
                "an output that goes off by itself when it is not written: docs/devices/README.md lists them; put such a "
                "device, or a relay with a write watchdog, between the two",
            )
            continue
        found[tag] = (place.bus, profile, profile.points[place.point])
        back = READ_BACK.get(tag)
        back_place = None if back is None else config.inputs.get(back)
        if (
            back is not None
            and back_place is not None
            and (back_place.bus, back_place.point) != (place.bus, output.read_back)
        ):
            draft.add(
                ("tags", back, "point"),
                f"{tag} is read back at {output.read_back} of {place.bus}",
                str(output.read_back),
            )
    _block(draft, found)


def _holds(profile: Profile, point: str) -> str | None:
    """Why an output does not go off by itself, None when it does."""
    expiry = profile.outputs[point].expiry
    if expiry is None:
        return f"{profile.profile} has no expiry for {point}"
    if not profile.expiries[expiry].as_delivered:
        return f"{profile.profile} leaves the factory with {expiry}, the watchdog of {point}, off, and no register proves it on"
    return None


def _block(draft: Draft[RackFile], found: dict[str, tuple[str, Profile, Point]]) -> None:
    """The valves are one write, the permit another: neither may re-arm the other's expiry.

    FCV-101 may be a device of its own, which is written by itself; in the valves' device it is the fifth of their write.
    """
    if not found.keys() >= set(VALVE_BLOCK):
        return
    bus, profile, first = found[VALVE_BLOCK[0]]
    together = [tag for tag in VALVE_BLOCK if tag != THROTTLE or found[tag][0] == bus]
    block = [found[tag] for tag in together]
    for place, (tag, (other, _, point)) in enumerate(zip(together, block, strict=True)):
        if (other, point.table, point.address) != (bus, first.table, first.address + place):
            draft.add(
                ("tags", tag, "point"),
                f"{', '.join(together)} are one write: they have to lie side by side in one device",
                f"{bus} {first.table} {first.address + place}",
            )
            return
    if "XS-101" not in found or found["XS-101"][0] != bus:
        return
    permit = found["XS-101"][2]
    if permit.table is first.table and first.address <= permit.address < first.address + len(block):
        draft.add(("tags", "XS-101", "point"), "the permit lies inside the valves' write", "a register of its own")
    names = {
        name
        for name, output in profile.outputs.items()
        if profile.points[name] in [point for _, _, point in block] and output.expiry
    }
    expiry = next((output.expiry for name, output in profile.outputs.items() if profile.points[name] is permit), None)
    if expiry is not None and names & set(profile.expiries[expiry].rearmed_by):
        draft.add(
            ("tags", "XS-101", "point"),
            f"writes of the valves re-arm the permit's expiry {expiry}",
            "an expiry of its own",
        )


def _missing(draft: Draft[RackFile], config: RackConfig) -> None:
    for tag in OUTPUT_TAGS:
        if tag not in MAYBE_OUTPUTS and not draft.has(("tags", tag)):
            draft.add(("tags", tag), f"{tag} is missing: an output of every rack", "{bus, point}")
    for tag, sifs in needed().items():
        if not draft.has(("tags", tag)):
            draft.add(("tags", tag), f"{tag} is missing: needed by {', '.join(sifs)}", "{bus, point, lane}")


def _detectors(draft: Draft[RackFile], config: RackConfig) -> None:
    ruled = {name for rule in config.policy for name in rule.detectors}
    source = config.data.policy or "the built-in policy"
    for name in config.detectors:
        if name not in ruled:
            at = ("tags", name) if name in config.data.tags else ("trays",)
            draft.add(at, f"no rule of {source} names detector {name}", "each detector is named by a rule")
    if config.data.policy is None:
        for rule in config.policy:
            for name in rule.detectors:
                if name not in config.detectors and not draft.has(("tags", name)):
                    draft.add(
                        ("policy",),
                        f"rule {rule.name} of the built-in policy names {name}, which this rack has not",
                        "a policy file of its own",
                    )

"""What Valvey and the coordinator tell that is a cause: alarms, latches, states; and what cannot be known of them."""

from collections.abc import Callable, Iterable

from fieldkit.reading import Quality, Reason
from racky.core.causes import Found
from racky.core.sight import DaemonTold
from racky.core.view import View

Finder = Callable[[View], Iterable[Found]]

LINK_REASONS = frozenset(
    {
        Reason.TIMEOUT, Reason.EXCEPTION, Reason.SHORT_REPLY, Reason.WRONG_ID, Reason.ECHO, Reason.LINK_DOWN,
        Reason.NEVER_READ, Reason.STALE,
    }
)  # fmt: skip
"""Reasons that speak of a device or its link, not of one sensor."""
DEVICE_POINTS = 3
"""So many lost points of whatever reason are no sensor any more: a gateway answers from an old copy."""
SILENT_DEVICES = 3
"""So many silent devices have one cause above them: their supply, or the switch between."""
NEEDED = (
    "FT-101", "FT-102", "TT-101", "TT-102A", "TT-102B", "TT-102C", "PT-101", "PT-102", "ZSO-101", "ZSC-101", "ZSO-102",
    "ZSC-102", "XI-101", "LDT-101", "LDT-102", "ET-101", "JT-101",
)  # fmt: skip
"""Points without which nobody can say that a rack is well. One that Valvey does not tell at all is not fitted."""
_DERIVED = frozenset({"JY-101", "FDY-101", "FDY-102", "FY-101", "FY-102", "TY-102", "TDY-101"})
_NOT_MEASURED = _DERIVED | {"WRITE-ACK", "LDX-103"}
WORKING = frozenset({"FLOWING"})


def latch(*sifs: str, seen: str = "") -> Finder:
    """The latch of one of these functions; ``seen``: only where its evidence names this tag."""

    def found(view: View) -> Iterable[Found]:
        for one in view.sight.valvey.latches:
            if one.sif in sifs and seen in one.cause:
                yield Found(evidence=one.cause, since_s=one.since_s)
                return

    return found


def other_latches(known: frozenset[str]) -> Finder:
    """Latches of functions that no row of their own stands for, by name."""

    def found(view: View) -> Iterable[Found]:
        for one in view.sight.valvey.latches:
            if one.sif not in known:
                yield Found(slug(one.sif), one.cause, one.since_s)

    return found


def alarm(*names: str) -> Finder:
    """One of these alarms of Valvey."""
    return _alarms(lambda view: view.sight.valvey, names)


def loop_alarm(*names: str) -> Finder:
    """One of these alarms of the coordinator."""
    return _alarms(lambda view: view.sight.loop, names)


def _alarms(of: Callable[[View], DaemonTold], names: tuple[str, ...]) -> Finder:
    """An alarm by its id; ``PREFIX-*`` yields each of them by the rest of its name."""

    def found(view: View) -> Iterable[Found]:
        for name in names:
            prefix = name.removesuffix("*")
            for one in of(view).alarms.values():
                rest = one.id.removeprefix(prefix)
                if one.active and (one.id == name or (name.endswith("*") and rest != one.id)):
                    yield Found(rest, one.cause, one.since_s, one.hidden)

    return found


def either(*finders: Finder) -> Finder:
    """What any of them finds; the first to find a name tells of it."""

    def found(view: View) -> Iterable[Found]:
        for finder in finders:
            yield from finder(view)

    return found


def slug(name: str) -> str:
    """A tag or function as part of an id."""
    return name.lower().replace("/", "-").replace("_", "-").replace(".", "-")


def valvey_offline(view: View) -> Iterable[Found]:
    """Its last will or its goodbye came: it does not run."""
    if view.sight.valvey.online is False:
        yield Found(evidence="its last message is 'offline'")


def valvey_silent(view: View) -> Iterable[Found]:
    """It was never heard, or has told nothing for longer than it may: it hangs, or the bus does not carry it."""
    valvey, heard_s = view.sight.valvey, view.sight.valvey.heard_s
    if not view.sight.hears_valvey and valvey.online is not False:
        yield Found(evidence="never heard" if heard_s is None else f"nothing for {view.now_s - heard_s:.0f} s")


def loop_silent(view: View) -> Iterable[Found]:
    if view.sight.has_loop and not view.sight.hears_loop:
        yield Found(evidence=view.sight.loop.state or "never heard")


def wet(view: View) -> Iterable[Found]:
    """Detectors that show liquid, tripped or not."""
    for tag, one in view.sight.valvey.points.items():
        if tag.startswith("LDT-1") and (view.sight.guarded(tag) or 0.0) >= 0.5:
            yield Found(slug(tag), f"{tag} is wet", one.at_s)


def contact(tag: str, text: str) -> Finder:
    """A contact of Valvey's that shows 1."""

    def found(view: View) -> Iterable[Found]:
        if (view.sight.guarded(tag) or 0.0) >= 0.5:
            yield Found(evidence=text)

    return found


def lost_points(view: View) -> dict[str, Reason | None]:
    """Measured points that Valvey tells and cannot believe, with the reason."""
    if not view.sight.hears_valvey:
        return {}
    return {
        tag: one.reason
        for tag, one in view.sight.valvey.points.items()
        if tag not in _NOT_MEASURED and not tag.startswith("SYS-") and one.quality is not Quality.GOOD
    }


def device_silent(view: View) -> Iterable[Found]:
    """Devices that Valvey cannot read. One whose only trouble is a sensor's value answers."""
    lost = lost_points(view)
    if len(lost) < DEVICE_POINTS and not any(reason in LINK_REASONS for reason in lost.values()):
        return
    yield from alarm("link-*")(view)


def sensor_bad(view: View) -> Iterable[Found]:
    """Points that cannot be believed, as far as no silent device takes them along.

    The alarm says so after its delay; until then the point itself does. A detector's contamination bit is lost with it.
    """
    by_alarm = {one.name: one for one in alarm("bad-*")(view)}
    devices = any(True for _ in device_silent(view))
    lost = lost_points(view)
    for tag, reason in lost.items():
        taken = devices and (reason in LINK_REASONS or len(lost) >= DEVICE_POINTS)
        if slug(tag) not in by_alarm and not taken:
            by_alarm[slug(tag)] = Found(slug(tag), f"{tag}: {reason}")
    for name, one in by_alarm.items():
        if not (name.startswith("lda-") and name.replace("lda-", "ldt-") in by_alarm):
            yield Found(name, one.evidence, one.since_s, one.hidden, functions_of(name))


def functions_of(name: str) -> tuple[str, ...]:
    """What a sensor that lies or is lost explains, by its letters."""
    for letters, explained in _FUNCTIONS:
        if name.startswith(letters):
            return explained
    return ()


# fmt: off
_FUNCTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("ft-", ("flow-lost", "gross-imbalance", "meters-apart", "heat-balance", "branch-changed", "near-trip")),
    ("tt-101", ("supply-hot", "heat-balance", "dew-margin", "near-trip")),
    ("tt-102", ("return-hot", "returns-apart", "heat-balance", "near-trip")),
    ("pt-10", ("over-pressure", "static-lost", "trapped-liquid", "pressure-decay", "branch-changed")),
    ("pt-20", ("header-unknown", "cdu-unknown")),
    ("zs", ("valve-left-limit", "valve-closed", "proof-lost", "not-proven-shut", "valve-doubt")),
    ("xi-101", ("permit-lost", "power-not-off")),
    ("jt-", ("heat-balance", "power-apart", "power-unknown")),
    ("et-", ("heat-balance", "power-apart", "power-unknown", "power-not-off")),
    ("ev-", ("power-not-off",)),
)
# fmt: on


def points_missing(view: View) -> Iterable[Found]:
    """Points that are told and have gone stale on their way, although Valvey is heard."""
    for tag in NEEDED:
        one = view.sight.valvey.points.get(tag)
        if (
            view.sight.hears_valvey
            and one is not None
            and one.quality is Quality.GOOD
            and view.sight.guarded(tag) is None
        ):
            yield Found(slug(tag), f"{tag} is {view.now_s - one.at_s:.0f} s old")


def control_power(view: View) -> Iterable[Found]:
    """Many devices silent at once: what feeds or connects them is gone."""
    silent = list(device_silent(view))
    if len(silent) >= SILENT_DEVICES:
        yield Found(evidence=f"silent: {', '.join(sorted(one.name for one in silent))}", since_s=_first(silent))


def _first(found: list[Found]) -> float | None:
    known = [one.since_s for one in found if one.since_s is not None]
    return min(known, default=None)


def not_in_service(view: View) -> Iterable[Found]:
    """The rack's coolant is not in service, or nobody knows."""
    valvey = view.sight.valvey
    if valvey.state not in WORKING:
        yield Found(evidence=f"Valvey is in {valvey.state or 'no known state'}", since_s=valvey.since_s or None)


def locked(view: View) -> Iterable[Found]:
    for owner in view.sight.valvey.locks:
        yield Found(evidence=f"locked by {owner}")


def valvey_disarmed(view: View) -> Iterable[Found]:
    if view.sight.valvey.armed is False:
        yield Found(evidence="Valvey reads and judges, and writes nothing")


def other_alarms(known: tuple[str, ...]) -> Finder:
    """Active alarms of Valvey and the coordinator that no row of their own stands for. ``known``: ids, or ``PREFIX-*``."""

    def covered(name: str) -> bool:
        return any(name == one or (one.endswith("*") and name.startswith(one[:-1])) for one in known)

    def found(view: View) -> Iterable[Found]:
        for whose, daemon in (("", view.sight.valvey), ("loop-", view.sight.loop)):
            for one in daemon.alarms.values():
                if one.active and not covered(whose + one.id):
                    yield Found(whose + one.id, one.cause, one.since_s, one.hidden)

    return found

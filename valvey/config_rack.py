"""One rack as its file describes it, and what the core takes from it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fieldkit.profile import Profile
from valvey.config_models import RackFile, TagPlace
from valvey.core.limits import Limits, TripTiming
from valvey.core.policy import PolicyRule
from valvey.core.stroking import TAGS as STROKE_TAGS
from valvey.core.trips import Trip, rows_for
from valvey.needs import OUTPUT_TAGS

LEAST_MAX_AGE_S = 0.5
PERIODS_TO_STALE = 3.0
SIF_1_HOLD_S = 0.5
SIF_4_LONGEST_HOLD_S = 3.0
"""SIF-4's hold follows the load (1..3 s): a file that states none must not cut that short."""
RENAMED = {
    "kv_rack_m3_h": "kv_rack",
    "kv_branch_m3_h": "kv_branch",
    "fcv_kvs_m3_h": "fcv_kvs",
    "dead_busbar_v": "dead_volt",
}
"""Keys whose name in the core has no unit."""


FCV_SIZES: tuple[tuple[float, float], ...] = ((132.0, 30.4), (238.0, 50.0))
"""Up to so many kW, FCV-101 usually has this Kvs in m3/h: DN50 and DN65."""


def usual_fcv_kvs(rating_kw: float) -> float | None:
    """Return Kvs of FCV-101 where the file states none; None above the usual sizes."""
    return next((kvs for most_kw, kvs in FCV_SIZES if rating_kw <= most_kw), None)


@dataclass(frozen=True, slots=True)
class RackConfig:
    """One rack.

    file      the rack's file; relative paths in it are seen from its directory
    data      what it says
    profiles  by bus name
    policy    the leak policy's rules, trays written out
    digest    sha256 over file, profiles and policy in canonical form
    """

    file: Path
    data: RackFile
    profiles: Mapping[str, Profile]
    policy: tuple[PolicyRule, ...]
    digest: str

    @property
    def inputs(self) -> dict[str, TagPlace]:
        """The tags that are read."""
        return {tag: place for tag, place in self.data.tags.items() if tag not in OUTPUT_TAGS}

    @property
    def outputs(self) -> dict[str, TagPlace]:
        """The tags that are written."""
        return {tag: place for tag, place in self.data.tags.items() if tag in OUTPUT_TAGS}

    @property
    def detectors(self) -> tuple[str, ...]:
        """Leak detectors of the rack: its own, then those of its trays."""
        own = (tag for tag in self.data.tags if tag.startswith("LDT-1"))
        return (*own, *(f"TRAY-{name}" for name in self.data.trays))

    def read_from(self, bus: str) -> dict[str, tuple[str, str]]:
        """Return tag → (point, lane) of what is read from ``bus``."""
        mine = {tag: one for tag, one in self.inputs.items() if one.bus == bus}
        return {tag: (one.point, one.lane) for tag, one in mine.items() if one.lane is not None}

    def norms_of(self, bus: str) -> dict[str, tuple[float, float]]:
        """Return tag → normal band of what is read from ``bus``, where one is stated."""
        return {tag: one.norm for tag, one in self.inputs.items() if one.bus == bus and one.norm is not None}

    def min_gap_s(self, bus: str) -> float:
        """Least quiet time between requests to ``bus``: the file's, else the profile's."""
        stated_s = self.data.buses[bus].min_gap_s
        return self.profiles[bus].min_gap_s if stated_s is None else stated_s

    def period_s(self, tag: str) -> float:
        """Period of the lane in which ``tag`` is read."""
        scan = self.data.scan
        return {"normal": scan.normal_s, "slow": scan.slow_s}.get(self.data.tags[tag].lane or "fast", scan.fast_s)

    def max_age_s(self, tag: str) -> float:
        """Age above which a reading of ``tag`` is stale."""
        return round(max(PERIODS_TO_STALE * self.period_s(tag), LEAST_MAX_AGE_S), 6)

    def path(self, name: str) -> Path:
        """Return a path of the file as seen from its directory."""
        return self.file.parent / name

    @property
    def permit_expiry_s(self) -> float | None:
        """Expiry of XS-101; None when its device has none."""
        return self.expiry_s("XS-101")

    @property
    def valves_expiry_s(self) -> float | None:
        """The shorter expiry of XV-101 and XV-102; None when their devices have none."""
        both = [self.expiry_s(tag) for tag in ("XV-101", "XV-102")]
        return min((one for one in both if one is not None), default=None)

    def expiry_s(self, tag: str) -> float | None:
        """When the output ``tag`` goes off by itself after the last write; None when its device has no expiry."""
        stated_s = self.data.expiries.permit_s if tag == "XS-101" else self.data.expiries.valves_s
        place = self.data.tags.get(tag)
        profile = None if place is None else self.profiles.get(place.bus)
        output = None if place is None or profile is None else profile.outputs.get(place.point)
        if profile is None or output is None or output.expiry is None:
            return None
        return stated_s if stated_s is not None else profile.expiries[output.expiry].default_s


def to_limits(config: RackConfig) -> Limits:
    """Return what the core takes from a rack's configuration."""
    data = config.data
    numbers: dict[str, Any] = {RENAMED.get(name, name): value for name, value in data.limits if value is not None}
    numbers.setdefault("kv_branch", data.limits.kv_rack_m3_h)
    numbers.setdefault("fcv_kvs", usual_fcv_kvs(data.limits.rating_kw) or FCV_SIZES[-1][1])
    lags_s = [one.lag_s for tag in ("FT-101", "FT-102") if (one := data.tags.get(tag)) and one.lag_s]
    if lags_s:
        numbers["flow_tau_s"] = max(lags_s)
    plain = Limits(
        **numbers,
        armed_in_file=data.armed,
        stroke_tags=frozenset(STROKE_TAGS) & data.tags.keys(),
        coordinator=data.coordinator is not None,
        name=f"{data.site}/{data.rack}",
        policy=config.policy,
        shadows=frozenset(key for key, times in data.trips.items() if times.shadow),
        trip_sources=frozenset(data.trip_sources),
        max_age_s={tag: config.max_age_s(tag) for tag in config.inputs},
        link_of={tag: place.bus for tag, place in config.inputs.items()},
    )
    return replace(plain, timing=_timing(config, rows_for(plain)))


def rows_named(key: str, rows: tuple[Trip, ...]) -> tuple[Trip, ...]:
    """Return the rows that a key of ``trips`` means: the row itself, else the rows of that function.

    A row that only acts when blind is meant by its own key alone: its time is another matter.
    """
    exact = tuple(row for row in rows if row.key == key)
    return exact or tuple(row for row in rows if row.sif == key and row.blind_effect is None)


def _timing(config: RackConfig, rows: tuple[Trip, ...]) -> dict[str, TripTiming]:
    """Return the stated times by row. A row's own key wins over its function's, a rule's persistence over both."""
    out: dict[str, TripTiming] = {}
    for key, times in sorted(config.data.trips.items(), key=lambda item: item[0] in {row.key for row in rows}):
        for row in rows_named(key, rows):
            own_s = SIF_4_LONGEST_HOLD_S if row.key == "SIF-4" else row.hold_s
            before = out.get(row.key, TripTiming(own_s))
            hold_s = 0.0 if times.at_once else before.hold_s if times.hold_s is None else times.hold_s
            if row.sif == "SIF-1" and key != row.key:
                hold_s = before.hold_s  # a rule without a persistence of its own has taken it already
            out[row.key] = TripTiming(hold_s, before.blind_s if times.blind_s is None else times.blind_s)
    return out

"""How a rack is proven: what is expected of it, the gates, the times, and the site's own diagnostics. Set by configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from racky.core.gates import Gate
from racky.core.inventory import Expected, Release

DETECTORS = ("LDT-101", "LDT-102", "LDT-103", "LDA-101", "LDA-102", "LDA-103")


@dataclass(frozen=True, slots=True)
class Design:
    """The rack on paper. Conductances are Kv in m³/h.

    kv_rack         inlet to outlet manifold
    fcv_kvs, fcv_rangeability, xv_kvs   FCV-101 (equal-percentage) and XV-101
    header_kpa      what the header loses from PT-201 to the rack's branch at ``header_lpm`` through FT-201; 0: PT-201 stands there
    liquid_fraction share of the load that goes into the liquid
    detectors       tags that must be dry and free of contamination
    """

    rating_kw: float
    flow_nominal_lpm: float
    kv_rack: float = 12.5
    fcv_kvs: float = 30.4
    fcv_rangeability: float = 50.0
    xv_kvs: float = 90.0
    header_kpa: float = 0.0
    header_lpm: float = 1000.0
    liquid_fraction: float = 0.97
    detectors: tuple[str, ...] = DETECTORS


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds. ``…_most``: the longest that a step may take.

    identify  how long a device may contradict the list before the rack is refused
    calm, watch_wide, watch_nominal   after a new set-point nothing is judged for ``calm``; then it is watched
    settle, watch   the same under load
    retry     between two requests after one was refused
    """

    identify: float = 60.0
    update_most: float = 7200.0
    fill_most: float = 5400.0
    open_most: float = 900.0
    wide_most: float = 240.0
    nominal_most: float = 240.0
    auto_most: float = 60.0
    calm: float = 20.0
    watch_wide: float = 60.0
    watch_nominal: float = 60.0
    on_most: float = 600.0
    load_most: float = 900.0
    settle: float = 180.0
    watch: float = 300.0
    diagnose_most: float = 14400.0
    retry: float = 10.0


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One command of the site's. ``load``: it makes the burn-in load, and runs until it is stopped."""

    id: str
    timeout_s: float
    text: str = ""
    load: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """One rack's way into production. ``load_share``: share of the rating that counts as loaded."""

    expected: tuple[Expected, ...]
    manifest: tuple[Release, ...]
    gates: tuple[Gate, ...]
    design: Design
    images: Mapping[str, bytes] = field(default_factory=dict)
    times: Times = Times()
    diagnostics: tuple[Diagnostic, ...] = ()
    load_share: float = 0.8

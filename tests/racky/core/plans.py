"""A plan for the tests, as a site's files make one: the shipped gates, two shelves' worth of manifest, short times."""

from dataclasses import replace
from pathlib import Path

from firmware_sim.parts.orv3_mailbox import build_image
from racky.core.inventory import Expected, Identity, Release
from racky.core.mailbox import Mailbox
from racky.core.plan import Design, Diagnostic, Plan, Times
from racky.core.setup import Setup, Shelf
from racky.lifecycle_file import read_gates

GATES = read_gates(Path("configs/lifecycle/gates.yaml"))
DESIGN = Design(132.0, 197.0, kv_rack=12.5, fcv_kvs=30.4, xv_kvs=90.0, header_kpa=1.19, header_lpm=539.0, detectors=("LDT-101", "LDT-102", "LDT-103"))  # fmt: skip
TIMES = Times(
    identify=20.0, fill_most=1200.0, wide_most=150.0, nominal_most=150.0, calm=15.0, watch_wide=60.0, watch_nominal=40.0, on_most=120.0,
    load_most=120.0, settle=120.0, watch=120.0, retry=5.0,
)  # fmt: skip
SHELVES = tuple(Shelf(number) for number in (111, 112, 113, 114))
NAMES = tuple(f"shelf_{shelf.number}" for shelf in SHELVES)
SETUP = Setup("r01", shelves=SHELVES, armed=True, pause_s=1.0)
IMAGE = build_image("1.1.0", bytes(range(256)) * 2)
BOX = Mailbox(revision_address=908, revision_input=True, erase_s=20.0, restart_s=30.0)
RELEASE = Release("racky-pwr-shelf", "1.1.0", (), "shelf-1.1.0", BOX)
QUICK = Times(
    identify=20.0, fill_most=200.0, wide_most=60.0, nominal_most=60.0, calm=5.0, watch_wide=35.0, watch_nominal=35.0, on_most=40.0,
    load_most=40.0, settle=15.0, watch=35.0, retry=5.0,
)  # fmt: skip
"""For racks on paper, which need no time to settle."""
FEW = tuple(Shelf(number, psus=("A", "B", "C")) for number in (111, 112, 113, 114))
DIAGNOSTICS = (Diagnostic("burn-in", 3600.0, load=True), Diagnostic("dcgm", 60.0), Diagnostic("links", 60.0))


def identity(device: str, revision: str = "1.1.0", serial: str = "") -> Identity:
    return Identity(device, "Racky", "racky-pwr-shelf", serial or f"S-{device}", revision)


def identities(revision: str = "1.1.0") -> dict[str, Identity]:
    return {name: identity(name, revision) for name in NAMES}


PLAN = Plan(
    expected=tuple(Expected(name, "racky-pwr-shelf") for name in NAMES),
    manifest=(RELEASE,),
    gates=GATES,
    design=DESIGN,
    images={"shelf-1.1.0": IMAGE},
    times=TIMES,
    diagnostics=DIAGNOSTICS,
)


def planned(plan: Plan = PLAN, **changes: object) -> Setup:
    return replace(SETUP, plan=plan, **changes)  # type: ignore[arg-type]


PAPER = replace(PLAN, times=QUICK)


def on_paper(plan: Plan = PAPER, **changes: object) -> Setup:
    return replace(planned(plan), shelves=FEW, **changes)  # type: ignore[arg-type]

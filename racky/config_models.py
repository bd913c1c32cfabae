"""What may stand in a rack's file of Racky: its sections, the bounds of each value, and its unit in the key.

Only what one value alone can get wrong is judged here; ``config`` judges what they say together.
"""

from typing import Annotated, Literal

from pydantic import Field

from fieldkit.config_bus import Bus
from fieldkit.config_parts import Id, Journal, Lane, Memory, Model, Mqtt, TagName, Text

Loop = Annotated[int, Field(ge=111, le=129)]
Psu = Annotated[str, Field(pattern=r"^[A-F]$")]
Kw = Annotated[float, Field(gt=0, le=1000)]


class Scan(Model):
    """How often everything is decided, and how often the slower points are read."""

    period_s: Annotated[float, Field(ge=0.1, le=1)] = 0.5
    """Outputs and what they show; also the period of all decisions."""
    normal_s: Annotated[float, Field(ge=0.2, le=10)] = 2.0
    """Supplies, room, power meters."""
    slow_s: Annotated[float, Field(ge=1, le=3600)] = 60.0
    """Who the devices say they are."""


class TagPlace(Model):
    """Where one tag is found: room (TT-110, MT-110, ZS-110), power distribution (JT-130, CT-130A..C)."""

    bus: Text
    point: Text
    """Name of a point of the bus's profile."""
    lane: Lane = "normal"


class PsuPoints(Model):
    """Points of one supply; ``?`` in a name stands for its letter, a to f. One that is left out is not read."""

    power: Text | None = None
    voltage: Text | None = None
    inlet: Text | None = None
    fan: Text | None = None
    fault: Text | None = None
    fan_fault: Text | None = None
    ac_fault: Text | None = None


class ShelfPoints(Model):
    """Points of a power shelf's profile."""

    command: Text = "output"
    """Written by Racky alone: 1 on, 0 off."""
    feedback: Text = "output_on"
    power: Text | None = "power"
    psu: PsuPoints = PsuPoints(
        power="psu_?_power", voltage="psu_?_voltage", inlet="psu_?_inlet", fan="psu_?_fan",
        fault="psu_?_fault", fan_fault="psu_?_fan_fault", ac_fault="psu_?_ac_fault",
    )  # fmt: skip


class Shelf(Model):
    """One power shelf. Its tags follow from its number: JT-111, XS-111, EA-111C."""

    number: Annotated[int, Field(ge=111, le=119)]
    bus: Text
    rating_kw: Kw = 33.0
    psus: tuple[Psu, ...] = ("A", "B", "C", "D", "E", "F")
    points: ShelfPoints = ShelfPoints()


class BatteryPoints(Model):
    """Points of a battery shelf's profile."""

    command: Text = "output"
    """Written by Racky alone: 1 on, 0 off."""
    feedback: Text = "output_on"
    charge: Text | None = "charge"
    feeding: Text = "feeding"


class Battery(Model):
    """One battery shelf. Its tags follow from its number: QT-121, XS-121."""

    number: Annotated[int, Field(ge=121, le=129)]
    bus: Text
    points: BatteryPoints = BatteryPoints()


class Power(Model):
    """The rack's power: its bounds, its shelves, and how they are switched."""

    rating_kw: Kw
    """What the rack may draw at most."""
    budget_kw: Kw
    """What the site gives it."""
    flow_nominal_lpm: Annotated[float, Field(ge=5, le=2000)]
    """Coolant flow at the rating."""
    shelves: tuple[Shelf, ...] = ()
    """In the order in which they are switched on; off is the reverse."""
    batteries: tuple[Battery, ...] = ()
    """Switched on after the shelves, off before them."""
    shed: tuple[Loop, ...] = ()
    """Numbers of shelves, those first that are switched off first when the load does not obey a cap."""
    reclose: Literal["automatic", "manual"] = "manual"
    """Who powers the rack again after a loss, once Valvey has it back in service."""
    pause_s: Annotated[float, Field(ge=0, le=60)] = 2.0
    """Between two outputs."""
    output_s: Annotated[float, Field(ge=1, le=120)] = 10.0
    """How long an output may take to show that it obeyed."""
    grace_s: Annotated[float, Field(ge=1, le=300)] = 10.0
    """How long the load may stay over its cap before shelves are shed."""
    shed_s: Annotated[float, Field(ge=1, le=300)] = 5.0
    restore_s: Annotated[float, Field(ge=10, le=3600)] = 120.0
    settle_s: Annotated[float, Field(ge=1, le=600)] = 10.0
    """How long everything must allow power before an automatic reclose."""


class ExpectedDevice(Model):
    """A device that was ordered."""

    model: Text
    serial: Text | None = None
    """Left out = any, but one that no other device has."""


class IdentityPoints(Model):
    """Points by which a device says who it is; one that a profile lacks is empty."""

    model: Text = "model"
    serial: Text = "serial"
    firmware: Text = "firmware"


class Design(Model):
    """The rack on paper, for the gates. Conductances are Kv in m3/h."""

    kv_rack_m3_h: Annotated[float, Field(ge=0.5, le=200)] = 12.5
    fcv_kvs_m3_h: Annotated[float, Field(ge=1, le=500)] = 30.4
    fcv_rangeability: Annotated[float, Field(ge=10, le=200)] = 50.0
    xv_kvs_m3_h: Annotated[float, Field(ge=1, le=500)] = 90.0
    header_kpa: Annotated[float, Field(ge=0, le=300)] = 0.0
    """What the header loses from PT-201 to the rack's branch at ``header_lpm``."""
    header_lpm: Annotated[float, Field(gt=0, le=50_000)] = 1000.0
    liquid_fraction: Annotated[float, Field(gt=0, le=1)] = 0.97


class Diagnostic(Model):
    """One command of the site's, run as Racky's own user. Exit code 0 passes; its last line is kept."""

    id: Id
    command: Annotated[tuple[Text, ...], Field(min_length=1)]
    timeout_s: Annotated[float, Field(ge=1, le=86_400)]
    text: str = ""
    load: bool = False
    """It makes the burn-in load, and runs until it is stopped."""


class Lifecycle(Model):
    """How a new rack is proven. Left out: this rack's lifecycle is not Racky's."""

    gates: Text
    """File of the gates, seen from this file."""
    manifest: Text
    """File of the firmware that each model shall run, seen from this file."""
    expected: dict[Id, ExpectedDevice]
    """By bus."""
    identity: IdentityPoints = IdentityPoints()
    maker: Text = "unknown"
    design: Design = Design()
    diagnostics: tuple[Diagnostic, ...] = ()
    load_share: Annotated[float, Field(ge=0.1, le=1)] = 0.8
    """Share of the rating that counts as loaded."""


class RackyFile(Model):
    """One rack's file of Racky."""

    site: Id
    rack: Id
    simulated: bool = False
    """True on a bench: every surface and payload says so."""
    armed: bool = False
    """False: everything is read, judged and told, no output is written."""
    speed: Annotated[float, Field(gt=0, le=1000)] | None = None
    """How much faster time runs; only with ``simulated: true``."""
    loop: Id
    """The coordinator that is heard, or the word ``none``."""
    profiles_dir: Text = "profiles"
    scan: Scan = Scan()
    buses: dict[Id, Bus] = Field(default_factory=dict)
    tags: dict[TagName, TagPlace] = Field(default_factory=dict)
    power: Power
    lifecycle: Lifecycle | None = None
    mqtt: Mqtt
    memory: Memory
    journal: Journal | None = None

    @property
    def coordinator(self) -> str | None:
        return None if self.loop == "none" else self.loop

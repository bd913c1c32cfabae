"""Where each of Racky's tags is found: those of the file, and those that follow from a shelf's number."""

from dataclasses import dataclass

from racky.config_models import Battery, PsuPoints, RackyFile, Shelf

PSU_LETTERS: tuple[tuple[str, str], ...] = (
    ("JT", "power"), ("EV", "voltage"), ("TT", "inlet"), ("ST", "fan"), ("XA", "fault"), ("SA", "fan_fault"), ("EA", "ac_fault"),
)  # fmt: skip
"""Letters of a supply's tags, and which of its points each is."""


@dataclass(frozen=True, slots=True)
class Place:
    """One point of one device. ``output``: a command, written and never read from here."""

    bus: str
    point: str
    lane: str
    output: bool = False


def places(data: RackyFile) -> dict[str, Place]:
    """Return everything that is read, by tag."""
    out = {tag: Place(one.bus, one.point, one.lane) for tag, one in data.tags.items()}
    for shelf in data.power.shelves:
        bus, number, points = shelf.bus, shelf.number, shelf.points
        out[f"XI-{number}"] = Place(bus, points.feedback, "fast")
        if points.power is not None:
            out[f"JT-{number}"] = Place(bus, points.power, "fast")
        for psu in shelf.psus:
            out |= _supply(bus, number, psu, points.psu)
    for battery in data.power.batteries:
        bus, number, own = battery.bus, battery.number, battery.points
        out[f"XI-{number}"] = Place(bus, own.feedback, "fast")
        out[f"XB-{number}"] = Place(bus, own.feeding, "fast")
        if own.charge is not None:
            out[f"QT-{number}"] = Place(bus, own.charge, "normal")
    return out


def output_places(data: RackyFile) -> dict[str, Place]:
    """Return everything that may ever be written, by tag: the outputs of the shelves, and nothing else."""
    rows: list[Shelf | Battery] = [*data.power.shelves, *data.power.batteries]
    return {f"XS-{row.number}": Place(row.bus, row.points.command, "fast", output=True) for row in rows}


def _supply(bus: str, number: int, psu: str, points: PsuPoints) -> dict[str, Place]:
    named = {letters: getattr(points, field) for letters, field in PSU_LETTERS}
    return {
        f"{letters}-{number}{psu}": Place(bus, point.replace("?", psu.lower()), "normal")
        for letters, point in named.items()
        if point is not None
    }

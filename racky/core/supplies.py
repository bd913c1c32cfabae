"""What the power gates measure under load: every supply's faults, fan and share, and how the shelves share."""

from statistics import mean, median

from racky.core.gates import Measured
from racky.core.setup import Shelf
from racky.core.shown import LOAD, Measure, Shown, lost


def psu_tags(shelf: Shelf, *letters: str) -> list[str]:
    return [shelf.psu(one, psu) for psu in shelf.psus for one in letters]


def supply_faults(shown: Shown) -> Measured:
    """Fault, fan-fault and mains bits that stood in any sample under load."""
    one = shown.windows.get(LOAD)
    bad: list[str] = []
    for shelf in shown.shelves:
        for tag in psu_tags(shelf, "XA", "SA", "EA"):
            most = None if one is None else one.highest(tag)
            if most is None:
                return Measured(None, f"{tag} had no level in the load window")
            if most >= 0.5:
                bad.append(tag)
    return Measured(float(len(bad)), ", ".join(bad))


def weakest(letters: str) -> Measure:
    def weakest_pct(shown: Shown) -> Measured:
        """The supply that shows least, as a share of the median of its shelf; the worst shelf."""
        worst = Measured(100.0 if not shown.shelves else None)
        for shelf in shown.shelves:
            levels = {tag: shown.level(LOAD, tag) for tag in psu_tags(shelf, letters)}
            known = {tag: level for tag, level in levels.items() if level is not None}
            if len(known) < len(levels):
                return lost(LOAD, **levels)
            middle = median(known.values())
            if middle <= 0.0:
                return Measured(0.0, f"half of the supplies of shelf {shelf.number} show nothing")
            tag = min(known, key=lambda name: known[name])
            share = 100.0 * known[tag] / middle
            if worst.value is None or share < worst.value:
                worst = Measured(share, f"{tag} {known[tag]:.2f}, median of its shelf {middle:.2f}")
        return worst

    return weakest_pct


def shelves_apart_pct(shown: Shown) -> Measured:
    """How far the shelf that carries most and the one that carries least lie apart, as a share of their mean."""
    levels = {shelf.power: shown.level(LOAD, shelf.power) for shelf in shown.shelves}
    known = [level for level in levels.values() if level is not None]
    if len(known) < len(levels):
        return lost(LOAD, **levels)
    if not known or mean(known) <= 0.0:
        return Measured(0.0 if not known else None, "no shelf carries anything" if known else "no shelves")
    return Measured(100.0 * (max(known) - min(known)) / mean(known))

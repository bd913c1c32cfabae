"""Where leaking liquid runs to, and which detectors it wets."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Place:
    """Where a hole is.

    node           0 inlet, 1 half-way, 2 outlet of the rack (which pressure drives it)
    basin          what it drips into first
    height_share   height above the drain, as a share of the rack's liquid height
    """

    node: int
    basin: str
    height_share: float


# fmt: off
PLACES: dict[str, Place] = {
    "manifold":        Place(0, "manifold_tray", 0.5),
    "return_manifold": Place(2, "manifold_tray", 0.5),
    "tray":            Place(1, "drip_pan",      0.5),
    "hose":            Place(0, "floor",         0.0),
    "return_hose":     Place(2, "floor",         0.0),
}

# basin -> (litres that wet its detector, litres it holds, where the rest goes, detector)
BASINS: dict[str, tuple[float, float, str, str]] = {
    "manifold_tray": (0.02, 1.0,          "drip_pan", "LDT-101"),
    "drip_pan":      (0.05, 8.0,          "floor",    "LDT-102"),
    "floor":         (0.20, float("inf"), "",         "LDT-103"),
}
# fmt: on


@dataclass(slots=True)
class Spill:
    """Litres standing in each basin; ``total_l`` is all that ever leaked."""

    total_l: float = 0.0
    pooled_l: dict[str, float] = field(default_factory=lambda: dict.fromkeys(BASINS, 0.0))
    wet: dict[str, bool] = field(default_factory=lambda: {row[3]: False for row in BASINS.values()})

    def add(self, litres: dict[str, float]) -> None:
        """Liquid that left at each place in this step."""
        for place, amount in litres.items():
            self.total_l += amount
            self.pooled_l[PLACES[place].basin] += amount
        for basin, (wets_l, holds_l, onward, detector) in BASINS.items():
            over = self.pooled_l[basin] - holds_l
            if over > 0.0:
                self.pooled_l[basin] = holds_l
                self.pooled_l[onward] += over
            self.wet[detector] = self.pooled_l[basin] >= wets_l

    def mop_up(self) -> None:
        """Dry every basin; the total stays on record."""
        for basin, row in BASINS.items():
            self.pooled_l[basin] = 0.0
            self.wet[row[3]] = False

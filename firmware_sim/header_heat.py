"""Heat on its way through the headers: plugs of liquid out to the racks and back."""

from collections.abc import Sequence

from firmware_sim.physics.thermal import Plug, mixed_c
from firmware_sim.rack_plant import RackPlant


class HeaderHeat:
    """One plug per header segment and direction; segment i lies before rack i."""

    def __init__(self, segment_l: float, racks: Sequence[RackPlant], supply_c: float) -> None:
        self._out = [Plug(segment_l, supply_c) for _ in racks]
        self._home = [Plug(segment_l, self._beyond_c(racks[i:], supply_c)) for i in range(len(racks))]
        # Segments both ways, and what the racks hold, as far as it warms and cools with the loop.
        self.volume_l = 2.0 * segment_l * len(racks) + sum(rack.config.volume_l for rack in racks)

    @staticmethod
    def _beyond_c(racks: Sequence[RackPlant], default_c: float) -> float:
        return mixed_c([(rack.flow_return_lpm, rack.t_return_c) for rack in racks], default_c)

    def mixed_return_c(self, racks: Sequence[RackPlant]) -> float:
        """Temperature in which the racks' returns mix."""
        return self._beyond_c(racks, self._out[0].out_c)

    def supply(self, supply_c: float, racks: Sequence[RackPlant], dt_s: float) -> list[float]:
        """Temperature at each rack's inlet after the supply header moved for ``dt_s``."""
        beyond_lpm = sum(rack.flow_supply_lpm for rack in racks)
        t_c, inlets = supply_c, []
        for plug, rack in zip(self._out, racks, strict=True):
            t_c = plug.push(beyond_lpm * dt_s / 60.0, t_c)
            inlets.append(t_c)
            beyond_lpm -= rack.flow_supply_lpm
        return inlets

    def back(self, racks: Sequence[RackPlant], default_c: float, dt_s: float) -> float:
        """Temperature that reaches the CDU after the return header moved for ``dt_s``; ``default_c`` when nothing moves."""
        flow_lpm, t_c = 0.0, default_c
        for plug, rack in zip(reversed(self._home), reversed(racks), strict=True):
            t_c = mixed_c([(flow_lpm, t_c), (rack.flow_return_lpm, rack.t_return_c)], plug.out_c)
            flow_lpm += max(0.0, rack.flow_return_lpm)
            t_c = plug.push(flow_lpm * dt_s / 60.0, t_c)
        return t_c if flow_lpm > 0.0 else default_c

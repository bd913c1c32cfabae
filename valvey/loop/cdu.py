"""The CDU on its wire: read whole every period, told its set-point when the gate lets one pass."""

from collections.abc import Callable, Mapping

from fieldkit.bus import LinkError
from fieldkit.clock import Clock
from fieldkit.device import Device
from fieldkit.links import Links
from fieldkit.reading import Reading
from valvey.loop.config import LoopConfig

RECONNECT_S = 2.0
WARM_S = 0.4


class Cdu:
    """One CDU.

    readings      tag → newest reading; every configured tag is in it from the start
    write_failed  the last set-point was not acknowledged (echo and read-back)
    """

    def __init__(self, config: LoopConfig, clock: Clock, notice: Callable[[str, str], None]) -> None:
        bus = config.data.cdu
        self.readings: dict[str, Reading] = {}
        self.write_failed = False
        self._points = config.point_of
        gap_s = config.profile.min_gap_s if bus.min_gap_s is None else bus.min_gap_s
        link = Links({"cdu": bus}, {"cdu": gap_s}, {"cdu": RECONNECT_S}).read("cdu")
        tags = {tag: (point, "fast") for tag, point in config.tags.items()}
        self.device = Device("cdu", bus.unit, config.profile, link, tags, self.readings, clock, notice=notice)

    async def warm(self) -> str:
        """Use the connection once, without writing; return what was in the way, "" when nothing."""
        try:
            await self.device.warm()
        except LinkError as error:
            return error.text
        return ""

    async def read(self) -> bool:
        """Read everything; True when all of it came."""
        return await self.device.poll("fast")

    async def write(self, writes: Mapping[str, float]) -> bool:
        """Write what the gate let pass; False when it was not acknowledged. Nothing is repeated here."""
        self.write_failed = False
        for point, value in writes.items():
            try:
                await self.device.write({self._points[point]: value})
            except LinkError:
                self.write_failed = True
        return not self.write_failed

    async def close(self) -> None:
        await self.device.close()

"""What power shelves and battery shelves share: an output command, an update mailbox, and a controller that starts anew."""

from collections.abc import Sequence

from firmware_sim.parts.channel import Channel
from firmware_sim.parts.firmware import Firmware
from firmware_sim.parts.maps_power import REVISION, SENSOR_FAULT
from firmware_sim.parts.orv3_mailbox import BOOT_MODE, STATUS, Mailbox, build_image
from firmware_sim.parts.registers import Answer, DeviceMap, Table

LOOPS_AT = {"power_shelf": 110, "battery_shelf": 120}
"""Shelf n of a rack is loop 110 + n, battery shelf n is loop 120 + n."""
_BODY = bytes(range(256)) * 4
_LONG_AGO_S = 1e9


class Shelf(Firmware):
    """A shelf's controller on the rack's 24 V. Its subclasses drive the output and show what is measured.

    number     1 is the rack's first
    on         the real output
    channels   what is measured, by tag
    stuck_on   fault: the output does not go off by command;  stuck_off  fault: it does not come on
    """

    heartbeat = 1

    def __init__(self, device_map: DeviceMap, serial: str, number: int = 1, revision: str = REVISION) -> None:
        super().__init__(device_map, serial)
        self.number = number
        self.loop = LOOPS_AT[device_map.device] + number
        self.on = False
        self.channels: dict[str, Channel] = {}
        self.stuck_on = self.stuck_off = False
        self.mailbox = Mailbox(build_image(revision, _BODY))
        self.mailbox.step(_LONG_AGO_S)  # it has long been running
        self._runs: str | None = None
        self.start(0.0)

    def load(self, revision: str) -> None:
        """Let it run ``revision``, as if it had been delivered with it."""
        self.mailbox.slots[self.mailbox.active] = build_image(revision, _BODY)
        self.mailbox.running = revision
        self._identify()

    def begin(self) -> None:
        """Stand in service, as if a controller had just left."""
        self.holding.set_u16(0, 1)
        self.on = True

    @property
    def answers(self) -> bool:
        """False without 24 V too."""
        return self.mailbox.answers

    @property
    def commanded(self) -> bool:
        return self.answers and self.holding.get_u16(0) == 1

    def identity(self) -> dict[int, str]:
        return {**super().identity(), 2: self.mailbox.running or ""}

    def start(self, now_s: float) -> None:
        self.mailbox.power_on(now_s)
        super().start(now_s)
        self._identify()

    def stop(self, now_s: float) -> None:
        """The 24 V are gone: the command is forgotten, and what was being written to the flash stays half done."""
        self.mailbox.step(now_s)
        self.mailbox.power_off()
        self._follow(now_s)

    def step_registers(self, now_s: float) -> None:
        self._follow(now_s)
        super().step_registers(now_s)
        self.holding.set_u16(STATUS, self.mailbox.status)

    def refuses(self, table: Table, address: int, count: int) -> Answer:
        """In the boot mode only the mailbox is served."""
        mailbox = table is Table.HOLDING and self.mailbox.owns(address, count)
        return Answer.OK if mailbox else Answer.BUSY

    def write_registers(self, address: int, values: Sequence[int], now_s: float) -> Answer:
        self._follow(now_s)
        if self.mailbox.owns(address, len(values)):
            if address == BOOT_MODE and self.on:
                return Answer.DEVICE_FAILURE
            said = self.mailbox.write(address, values, now_s)
            self._follow(now_s)
            return said
        if self.closed:
            return Answer.BUSY
        if address != 0 or len(values) != 1:
            return Answer.ILLEGAL_ADDRESS
        if values[0] not in {0, 1}:
            return Answer.ILLEGAL_VALUE
        self.command(on=values[0] == 1)
        return Answer.OK

    def command(self, *, on: bool) -> None:
        """Take a command, as from the wire."""
        self.holding.set_u16(0, int(on))
        self.note(f"XS-{self.loop} command", float(on))

    def _follow(self, now_s: float) -> None:
        """Let the mailbox move on, and see whether the controller went down or came up."""
        self.mailbox.step(now_s)
        self.closed = self.mailbox.updating
        runs = self.mailbox.running
        if runs == self._runs:
            return
        self._runs = runs
        if runs is None:
            self.holding.set_u16(0, 0)
        else:
            self.started_s = now_s
            self._identify()

    def _identify(self) -> None:
        self._runs = self.mailbox.running
        self.input.set_text(908, 4, self._runs or "")
        self.input.set_text(912, 8, self.serial)

    def show_celsius(self, address: int, celsius: float, *, sound: bool = True) -> None:
        """Put a temperature (0.1 degC, or its sensor's fault) into an input register."""
        self.input.set_u16(address, round(10.0 * celsius) if sound else SENSOR_FAULT)

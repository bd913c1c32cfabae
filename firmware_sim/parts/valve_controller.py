"""The valve controller: commands that expire by themselves, seal-out, limit switches, partial strokes.

Nobody has to be alive for its outputs to fall: each re-arming write buys 15 s for the valves and 8 s for the permit.
"""

from collections.abc import Sequence
from enum import Enum

from firmware_sim.parts.channel import Channel, ChannelSpec
from firmware_sim.parts.firmware import Firmware
from firmware_sim.parts.maps import COIL_BITS, CONTACT_BITS, LIMIT_BITS, STATUS_BITS, VALVE_CONTROLLER
from firmware_sim.parts.noise import Noise, seed_of
from firmware_sim.parts.registers import Answer
from firmware_sim.parts.wiring import COILS, XS_101, XV_101, XV_102, XVS, Contacts, Wiring

FCV, XS, STROKE_TEST = 4, 8, 16
VALVE_EXPIRY, PERMIT_EXPIRY, STROKE_101, STROKE_102 = 100, 101, 102, 103
_PERSISTENT = {VALVE_EXPIRY: 150, PERMIT_EXPIRY: 80, STROKE_101: 35, STROKE_102: 35}
_PERSISTENT_RANGE = (1, 9999)
_COMMAND_NAMES = {
    0: "XV-101 command",
    1: "XV-102 command",
    2: "XV-103 command",
    3: "XV-104 command",
    4: "FCV-101 command",
    8: "XS-101 command",
}
STROKE_TEST_LIMIT_S = 1.5
STROKE_TEST_OFF_LIMIT_S = 0.6  # a coil that has not left its open limit by then will not re-make it in time
SENSOR_FAULT = 0xFFFF
_EPSILON_S = 1e-9


class Stroke(Enum):
    """The phase of a partial stroke."""

    IDLE = 0
    LEAVING = 1
    RETURNING = 2


class ValveController(Firmware):
    """Stepped at every tick with the field's contacts; ``wiring.coils`` is what reaches the solenoids."""

    heartbeat = 8

    def __init__(self, serial: str = "VC-0001", seed: int = 0) -> None:
        super().__init__(VALVE_CONTROLLER, serial)
        self.wiring = Wiring()
        self.contacts = Contacts()
        self.position = Channel(
            ChannelSpec("ZT-101", tau_s=0.1, noise=0.02, resolution=0.01, update_s=0.05, low=0.0, high=100.0),
            Noise(seed_of(seed, serial)),
        )
        self.persistent_writes = 0
        self.writes = 0
        for address, default in _PERSISTENT.items():
            self.holding.set_u16(address, default)
        self.start(0.0)

    # -- power-up and hand-over ---------------------------------------------------------------------------------

    def start(self, now_s: float) -> None:
        """Power-up: all commands 0, nothing expired, the motor valve where it stands."""
        self._now_s = now_s
        self._commands = [False] * 5
        self._expired = [False] * 5
        self._valves_due_s = self._permit_due_s = now_s
        self.fcv_command_pct: float | None = None
        self._test, self._test_coil, self._test_since_s = Stroke.IDLE, XV_101, now_s
        self._passed = self._failed = False
        for address in (*range(5), XS, STROKE_TEST):
            self.holding.set_u16(address, 0)
        super().start(now_s)
        self._settle()

    def hand_over(self, commands: Sequence[bool], fcv_pct: float, now_s: float) -> None:
        """Stand as if a controller had written until now: five commands (XV-101..104, XS-101) and both expiries full."""
        self.write_registers(0, [*map(int, commands[:4]), round(fcv_pct * 100)], now_s)
        self.write_registers(XS, [int(commands[XS_101])], now_s)
        self.writes = 0
        self.input.set_u16(7, 0)

    def rearm(self, now_s: float) -> None:
        """Fill both expiries, as the writes of a controller do."""
        self._valves_due_s = now_s + self.holding.get_u16(VALVE_EXPIRY) / 10
        self._permit_due_s = now_s + self.holding.get_u16(PERMIT_EXPIRY) / 10

    # -- the wire -------------------------------------------------------------------------------------------------

    def write_registers(self, address: int, values: Sequence[int], now_s: float) -> Answer:
        if not self.holding.covers(address, len(values)):
            return Answer.ILLEGAL_ADDRESS
        span = range(address, address + len(values))
        if any(not _acceptable(at, value) for at, value in zip(span, values, strict=True)):
            return Answer.ILLEGAL_VALUE
        self._expire(now_s)
        if address <= XVS[-1]:
            self._valves_due_s = now_s + self.holding.get_u16(VALVE_EXPIRY) / 10
        if address == XS:
            self._permit_due_s = now_s + self.holding.get_u16(PERMIT_EXPIRY) / 10
        for at, value in zip(span, values, strict=True):
            self._accept(at, value, now_s)
        self.writes += 1
        self.input.set_u16(7, self.writes)
        self._settle()
        return Answer.OK

    def _accept(self, at: int, value: int, now_s: float) -> None:
        if at in _PERSISTENT:
            self.persistent_writes += 1
        if at == STROKE_TEST:
            if value:
                self._start_test(XV_101 if value == 1 else XV_102, now_s)
            return
        if at in _COMMAND_NAMES and self.holding.get_u16(at) != value:
            self.note(_COMMAND_NAMES[at], value / 100 if at == FCV else float(value))
        self.holding.set_u16(at, value)
        if at == FCV:
            self.fcv_command_pct = value / 100
        elif at in XVS or at == XS:
            coil = XS_101 if at == XS else at
            self._commands[coil] = bool(value)
            if not value:
                self._expired[coil] = False

    def before_read(self, now_s: float) -> None:
        self._expire(now_s)
        self.step_registers(now_s)
        self.input.set_u16(5, _centiseconds(self._valves_due_s - now_s))
        self.input.set_u16(6, _centiseconds(self._permit_due_s - now_s))

    # -- time -------------------------------------------------------------------------------------------------------

    def step(self, now_s: float, dt_s: float) -> None:
        """Let time pass: expiries, a stroke test, the position feedback."""
        self._expire(now_s)
        if self._test is not Stroke.IDLE:
            self._step_test(now_s)
            self._settle()
        if self.position.step(self.contacts.fcv_open_pct, now_s, dt_s):
            shown = self.position.shown
            ok = 0.0 <= shown <= 100.0  # false for NaN too
            self.input.set_u16(3, round(shown * 100) if ok else SENSOR_FAULT)

    def contacts_changed(self) -> None:
        """Call after changing ``contacts``: the wiring acts at once."""
        self._settle()

    def _expire(self, now_s: float) -> None:
        """Drop what ran out; only commands that were on need to be off once."""
        self._now_s = max(self._now_s, now_s)
        dropped = False
        if now_s >= self._valves_due_s - _EPSILON_S:
            for coil in XVS:
                dropped |= self._commands[coil] and not self._expired[coil]
                self._expired[coil] |= self._commands[coil]
        if now_s >= self._permit_due_s - _EPSILON_S:
            dropped |= self._commands[XS_101] and not self._expired[XS_101]
            self._expired[XS_101] |= self._commands[XS_101]
        if dropped:
            self._settle()

    def _settle(self) -> None:
        """Outputs through the wiring to the coils, and all of it into the registers."""
        outputs = [self._commands[coil] and not self._expired[coil] for coil in COILS]
        if self._test is Stroke.LEAVING:
            outputs[self._test_coil] = False
        self.wiring.settle(outputs, self.contacts)
        c = self.contacts
        limits = c.zso_101 | c.zsc_101 << 1 | c.zso_102 << 2 | c.zsc_102 << 3 | c.zsc_103 << 4 | c.zsc_104 << 5
        coils = self.wiring.coils
        self.show_bits(0, limits, LIMIT_BITS)
        self.show_bits(1, coils[0] | coils[1] << 1 | coils[2] << 2 | coils[3] << 3 | coils[4] << 4, COIL_BITS)
        self.show_bits(
            2,
            c.permit_closed | c.stop_healthy << 1 | c.key_locked << 2 | c.sump_not_high << 3 | c.cdu_trip << 4,
            CONTACT_BITS,
        )
        status = (
            any(self._expired[:4])
            | self._expired[XS_101] << 1
            | any(self.wiring.sealed_by_stop) << 2
            | (self._test is not Stroke.IDLE) << 3
            | self._passed << 4
            | self._failed << 5
        )
        self.show_bits(4, status, STATUS_BITS)

    # -- partial stroke ----------------------------------------------------------------------------------------------

    def _start_test(self, coil: int, now_s: float) -> None:
        """A test of a valve that is not held open, or during another test, fails at once and moves nothing."""
        if self._test is not Stroke.IDLE:
            return
        self._passed, self._failed = False, False
        if not (self.wiring.coils[coil] and self._open_limit(coil)):
            self._failed = True
            return
        self._test, self._test_coil, self._test_since_s = Stroke.LEAVING, coil, now_s
        self.holding.set_u16(STROKE_TEST, 1 if coil == XV_101 else 2)

    def _step_test(self, now_s: float) -> None:
        if self._test is Stroke.IDLE:
            return
        if not self._commands[self._test_coil] or self._expired[self._test_coil]:
            self._end_test(passed=False)
            return
        since_s = now_s - self._test_since_s
        if self._test is Stroke.LEAVING:
            if not self._open_limit(self._test_coil):
                self._test = Stroke.RETURNING
            elif since_s >= STROKE_TEST_OFF_LIMIT_S:
                self._end_test(passed=False)
        elif self._open_limit(self._test_coil):
            self._end_test(passed=True)
        elif since_s >= STROKE_TEST_LIMIT_S:
            self._end_test(passed=False)

    def _end_test(self, *, passed: bool) -> None:
        self._test, self._passed, self._failed = Stroke.IDLE, passed, not passed
        self.holding.set_u16(STROKE_TEST, 0)

    def _open_limit(self, coil: int) -> bool:
        return self.contacts.zso_101 if coil == XV_101 else self.contacts.zso_102


def _acceptable(address: int, value: int) -> bool:
    if address in XVS or address == XS:
        return value <= 1
    if address == FCV:
        return value <= 10_000
    if address == STROKE_TEST:
        return value <= 2
    return _PERSISTENT_RANGE[0] <= value <= _PERSISTENT_RANGE[1]


def _centiseconds(left_s: float) -> int:
    return min(0xFFFF, max(0, int(left_s * 100 + 0.5)))

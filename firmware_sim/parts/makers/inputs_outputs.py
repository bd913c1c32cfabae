"""Generic inputs and outputs: Moxa ioLogik E1242, Waveshare's eight relays, and a module for eight current loops."""

from collections.abc import Sequence

from firmware_sim.parts.makers.device import DeviceFault, MakersDevice
from firmware_sim.parts.makers.surroundings import Surroundings
from firmware_sim.parts.registers import Answer, DeviceMap, Kind, Row, Table

_I, _H, _C = Table.INPUT, Table.HOLDING, Table.COIL
_U16, _BITS, _F32, _BIT = Kind.U16, Kind.BITS, Kind.F32, Kind.BIT
_OPEN_MA, _FAILED_MA = 0.0, 21.5

# fmt: off
MOXA = DeviceMap(
    device="moxa-iologik-e1242", vendor="Moxa", product="E1242", revision="3.3", max_connections=10,
    rows=(
        Row(_I, 0x30, "DI", _BITS, bits=("DI 0", "DI 1", "DI 2", "DI 3")),
        *(Row(_I, 0x200 + n, f"AI {n} raw") for n in range(4)),
        *(Row(_I, 0x208 + 2 * n, f"AI {n}", _F32, "mA", words=2) for n in range(4)),
        *(Row(_I, 0x240 + n, f"AI {n} status", note="0 ok, 1 burn-out, 2 over, 3 under") for n in range(4)),
        Row(_H, 0x20, "DO all", _BITS, writable=True, low=0, high=15),
        *(Row(_H, 0x220 + n, f"AI {n} mode", writable=True, persistent=True, low=0, high=4, note="1 4-20, 2 0-20, 4 burn-out") for n in range(4)),
        *(Row(_C, n, f"DO {n}", _BIT, writable=True) for n in range(4)),
        *(Row(_C, 0x1010 + n, f"P2P safe {n}", _BIT) for n in range(4)),
    ),
)
RELAYS = DeviceMap(
    device="waveshare-relay-8ch", vendor="Waveshare", product="Modbus RTU Relay 8CH", revision="3.0", max_connections=1,
    functions=frozenset({1, 3, 5, 6, 15}),
    rows=(
        *(Row(_C, n, f"relay {n + 1}", _BIT, writable=True) for n in range(8)),
        Row(_H, 0x2000, "line", writable=True, persistent=True, low=0, high=0x0205, note="parity, baud code"),
        Row(_H, 0x4000, "address", writable=True, persistent=True, low=1, high=255),
        Row(_H, 0x8000, "version", scale=0.01),
    ),
)
LOOPS = DeviceMap(
    device="current-loops-8ch", vendor="Waveshare", product="Modbus RTU AI 8CH", revision="1.0", max_connections=1,
    functions=frozenset({3, 4, 6, 16}),
    rows=(
        *(Row(_I, n, f"loop {n + 1}", _U16, "uA") for n in range(8)),
        *(Row(_H, 0x1000 + n, f"range {n + 1}", writable=True, persistent=True, low=0, high=4) for n in range(8)),
    ),
)
# fmt: on
ALL_RELAYS, PULSE_ON, PULSE_OFF, TOGGLE = 0x00FF, 0x0200, 0x0400, 0x5500
_LOOP_FAULTS = frozenset({DeviceFault.ALL_ONES, DeviceFault.LOOP_OPEN, DeviceFault.LOOP_FAILED, DeviceFault.WORN})


class _Loops(MakersDevice):
    supports = _LOOP_FAULTS

    def loop_ma(self, number: int, share: float) -> float:
        """Current of loop ``number`` (1..) whose transmitter stands at ``share`` of its span, within NE 43."""
        if self.hit(DeviceFault.LOOP_OPEN, number):
            return _OPEN_MA
        if self.hit(DeviceFault.LOOP_FAILED, number):
            return _FAILED_MA
        return min(max(4.0 + 16.0 * share, 3.8), 20.5)


class IoLogik(_Loops):
    """Loops: FT-101 of 0..500 L/min, PT-101 of 0..1000 kPa, TT-101 and TT-102 of 0..100 degC."""

    def __init__(self, serial: str = "IO-0001") -> None:
        super().__init__(MOXA, serial)
        for n in range(4):
            self.put(f"AI {n} mode", 1)
        self.start(0.0)

    def accepted(self, row: Row, raw: tuple[int, ...], now_s: float) -> None:
        super().accepted(row, raw, now_s)
        if row.name == "DO all":
            self.coils[0:4] = [bool(raw[0] >> n & 1) for n in range(4)]

    def write_coils(self, address: int, values: Sequence[bool], now_s: float) -> Answer:
        said = super().write_coils(address, values, now_s)
        self.put("DO all", sum(on << n for n, on in enumerate(self.coils[0:4])))
        return said

    def step(self, seen: Surroundings, now_s: float, dt_s: float) -> None:
        self.bits("DI", DI_0=seen.permit_closed, DI_1=seen.stop_healthy, DI_2=any(seen.wet.values()))
        shares = (seen.flow_lpm / 500.0, seen.p_supply_kpa / 1000.0, seen.t_supply_c / 100.0, seen.t_return_c / 100.0)
        for n, share in enumerate(shares):
            current_ma = self.loop_ma(n + 1, share)
            self.put(f"AI {n}", current_ma)
            self.put(f"AI {n} raw", current_ma / 20.0 * 65535.0)
            self.put(f"AI {n} status", 1 if current_ma < 1.0 else 2 if current_ma > 21.0 else 0)


class RelayBoard(MakersDevice):
    """Eight relays that nobody watches: each holds its last command, unless it was a pulse."""

    supports = frozenset({DeviceFault.BLOCKED, DeviceFault.WORN})

    def __init__(self, serial: str = "RB-0001") -> None:
        super().__init__(RELAYS, serial)
        for name, value in (("line", 1), ("address", 1), ("version", 2.0)):
            self.put(name, value)
        self._until_s: dict[int, tuple[float, bool]] = {}
        self.start(0.0)

    def start(self, now_s: float) -> None:
        self.coils[:] = [False] * len(self.coils)
        self._until_s = {}
        super().start(now_s)

    def write_coil_value(self, address: int, value: int, now_s: float) -> Answer:
        self._settle(now_s)
        if address == ALL_RELAYS and value in {0x0000, 0xFF00, TOGGLE}:
            for n in range(8):
                self._switch(n, not self.coils[n] if value == TOGGLE else value == 0xFF00)
            return Answer.OK
        if address < 8 and value == TOGGLE:
            self._switch(address, not self.coils[address])
            return Answer.OK
        pulse = next((base for base in (PULSE_OFF, PULSE_ON) if base <= address < base + 8), None)
        if pulse is None:
            return super().write_coil_value(address, value, now_s)
        relay, on = address - pulse, pulse == PULSE_ON
        self._switch(relay, on)
        self._until_s[relay] = (now_s + value / 10.0, not on)
        return Answer.OK

    def write_coils(self, address: int, values: Sequence[bool], now_s: float) -> Answer:
        if not self.bits_exist(Table.COIL, address, len(values)):
            return Answer.ILLEGAL_ADDRESS
        for n, on in enumerate(values):
            self._switch(address + n, on)
        return Answer.OK

    def before_read(self, now_s: float) -> None:
        self._settle(now_s)
        super().before_read(now_s)

    def step(self, seen: Surroundings, now_s: float, dt_s: float) -> None:
        self._settle(now_s)

    def _switch(self, relay: int, on: bool) -> None:
        """A command ends a pulse; a welded relay stays as it is."""
        self._until_s.pop(relay, None)
        if not self.hit(DeviceFault.BLOCKED, relay + 1) and self.coils[relay] is not on:
            self.coils[relay] = on
            self.note(f"relay {relay + 1}", float(on))

    def _settle(self, now_s: float) -> None:
        for relay, (until_s, after) in tuple(self._until_s.items()):
            if now_s >= until_s:
                self._switch(relay, after)


class CurrentLoops(_Loops):
    """Loops: flows of 0..500 L/min, pressures of 0..1000 kPa, temperatures of 0..100 degC, a level, and FCV-101."""

    def __init__(self, serial: str = "CL-0001") -> None:
        super().__init__(LOOPS, serial)
        for n in range(8):
            self.put(f"range {n + 1}", 2)
        self.start(0.0)

    def step(self, seen: Surroundings, now_s: float, dt_s: float) -> None:
        shares = (
            *(seen.flow_lpm / 500.0, seen.flow_return_lpm / 500.0, seen.p_supply_kpa / 1000.0),
            *(seen.p_return_kpa / 1000.0, seen.t_supply_c / 100.0, seen.t_return_c / 100.0),
            *(seen.loop_level_pct / 100.0, seen.fcv_open_pct / 100.0),
        )
        for n, share in enumerate(shares):
            self.put(f"loop {n + 1}", 1000.0 * self.loop_ma(n + 1, share))

"""A damp room, from its sensor to the water: Racky reads the air and tells it, the coordinator raises the CDU's supply temperature.

The simulator's sensor, CDU and plant; Racky's and Valvey's own letters; the coordinator's hearing, step and gate. Stepped.
"""

from dataclasses import replace

import pytest

from fieldkit import envelope, letters
from fieldkit.coolant import dew_point_c
from fieldkit.letters import Sender
from fieldkit.mqtt_types import Incoming
from fieldkit.outbox import Properties
from fieldkit.reading import Quality, Reading
from fieldkit.request import Request
from fieldkit.topics import Daemon
from fieldkit.units import Unit
from tests.fieldkit.door import an_inbox
from tests.valvey.core.loop.bench import LoopBench
from valvey.core.chart import State
from valvey.core.loop.limits import Bounds
from valvey.loop.hearing import Hearing

WET = "r01"


class DampLoop(LoopBench):
    """A rack with shelves and a room sensor; what the coordinator knows of it comes by letters alone."""

    def __init__(self) -> None:
        super().__init__(1, power=True, supply=Bounds(20.0, 45.0))
        names = tuple(self.bank.rigs)
        inbox = an_inbox(Request, Daemon.LOOP, "cdu1")
        self.hearing = Hearing("demo", "cdu1", names, ("boot", 0.0), inbox, lambda: self.now_s)

    def tell(self) -> None:
        super().tell()
        for name, rig in self.bank.rigs.items():
            assert rig.power is not None
            assert rig.power.room is not None
            air = {tag: channel.shown for tag, channel in rig.power.room.channels.items()}
            self._say_points(name, Daemon.RACKY, air)
            self._say_points(name, Daemon.VALVEY, dict(self.seen[name].points))
            self.seen[name] = replace(self.hearing.racks[name], state=State.FLOWING, online=True)

    def _say_points(self, rack: str, daemon: Daemon, values: dict[str, float]) -> None:
        sender = Sender("demo", rack, daemon, True, "1", "boot", "d", 0.0, lambda s: s, lambda: True)
        readings = {tag: Reading(tag, value, Unit.NONE, Quality.GOOD, self.now_s) for tag, value in values.items()}
        told = letters.telemetry(sender, readings, lambda _tag: 5.0, self.now_s, 1)
        topic = f"racky/v1/demo/{rack}/{daemon}/telemetry"
        self.hearing.message(Incoming(topic, envelope.dump(told), False, Properties()))

    @property
    def inlet_c(self) -> float:
        return self.bank.plant.racks[WET].t_supply_c


def test_a_damp_room_raises_the_supply_above_its_dew_point() -> None:
    loop = DampLoop().run(2.0)
    assert loop.inlet_c == pytest.approx(40.0, abs=0.5)
    air_c, humidity_pct = 42.0, 90.0
    power = loop.bank.rigs[WET].power
    assert power is not None
    power.air_c = air_c
    loop.bank.book.add("humid_room", rack=WET, value=humidity_pct)
    loop.run(150.0)
    dew_c = dew_point_c(air_c, humidity_pct)
    assert dew_c + 2.0 < loop.bank.cdu.supply_c < dew_c + 3.0
    assert loop.inlet_c > dew_c + 2.0
    assert loop.memory.alarms["supply-raised"].active

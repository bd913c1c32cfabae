"""The power and room devices of one rack on the bench, and how they hang on the plant."""

from collections.abc import Iterator
from dataclasses import dataclass

from firmware_sim.parts.battery_shelf import BatteryShelf, BatteryTruth
from firmware_sim.parts.channel import Channel
from firmware_sim.parts.firmware import Firmware
from firmware_sim.parts.maps_power import REVISION
from firmware_sim.parts.noise import seed_of
from firmware_sim.parts.power_shelf import PowerShelf, ShelfTruth
from firmware_sim.parts.room import RoomSensor
from firmware_sim.parts.shelf import Shelf
from firmware_sim.plant_config import Start
from firmware_sim.rack_plant import RackPlant
from firmware_sim.shelved_power import ShelvedPower

SHOW_S = 0.2
"""The registers of shelves are brought up to date so often: nothing in them is faster."""
ROOM_C, ROOM_PCT = 27.0, 45.0
MOST_SHELVES = 9
MOST_OF_EACH = 200.0
"""kW of a power shelf, kWh of a battery shelf."""


@dataclass(frozen=True, slots=True)
class PowerSetting:
    """What of it a rack has.

    shelves_kw     rating of each power shelf;  batteries_kwh  capacity of each battery shelf
    room           a room sensor
    firmware       revision that the shelves run
    """

    shelves_kw: tuple[float, ...] = ()
    batteries_kwh: tuple[float, ...] = ()
    room: bool = False
    firmware: str = REVISION

    def __post_init__(self) -> None:
        if self.batteries_kwh and not self.shelves_kw:
            raise ValueError("battery shelves need power shelves: without any the rack's power has no shelves")
        for what, values in (("shelves_kw", self.shelves_kw), ("batteries_kwh", self.batteries_kwh)):
            if len(values) > MOST_SHELVES or any(not 0.0 < value <= MOST_OF_EACH for value in values):
                raise ValueError(f"{what} is {list(values)}; at most {MOST_SHELVES}, each above 0 to {MOST_OF_EACH:g}")


class PowerRig:
    """The devices of one rack, by the name of their bus: power_shelf_1 …, battery_shelf_1 …, room.

    air_c, humidity_pct   the air at the rack
    """

    def __init__(self, rack: str, setting: PowerSetting, plant: RackPlant, seed: int) -> None:
        seed = seed_of(seed, "power")
        self.shelves = {
            f"power_shelf_{n}": PowerShelf(f"PS{n}-{rack}", kw, n, setting.firmware, seed)
            for n, kw in enumerate(setting.shelves_kw, 1)
        }
        self.batteries = {
            f"battery_shelf_{n}": BatteryShelf(f"BS{n}-{rack}", kwh, n, setting.firmware, seed)
            for n, kwh in enumerate(setting.batteries_kwh, 1)
        }
        self.room = RoomSensor(f"RM-{rack}", seed) if setting.room else None
        self.air_c, self.humidity_pct = ROOM_C, ROOM_PCT
        self._plant = plant
        self._since_s = 0.0
        flowing = plant.config.start is Start.FLOWING
        self._power: ShelvedPower | None = None
        if self.shelves:
            plant.power = self._power = ShelvedPower(plant.config, flowing)
        if flowing:
            for shelf in (*self.shelves.values(), *self.batteries.values()):
                shelf.begin()
        self.drive(mains=True, now_s=0.0, dt_s=0.0)

    @property
    def has_shelves(self) -> bool:
        """The rack's power comes from shelves that are devices; without any it is there whenever the permit is."""
        return self._power is not None

    def all_shelves(self) -> dict[str, Shelf]:
        """Everything with an output and a mailbox."""
        return {**self.shelves, **self.batteries}

    def devices(self) -> dict[str, Firmware]:
        room: dict[str, Firmware] = {} if self.room is None else {"room": self.room}
        return {**self.all_shelves(), **room}

    def channels(self) -> Iterator[tuple[str, str, Channel]]:
        """Every analogue measurement that may be disturbed: tag, device, channel."""
        owners: dict[str, Shelf | RoomSensor] = {
            **self.shelves,
            **self.batteries,
            **({} if self.room is None else {"room": self.room}),
        }
        for device, owner in owners.items():
            for tag, channel in owner.channels.items():
                yield tag, device, channel

    def carrier(self, tag: str) -> str | None:
        """The device that carries a tag of a shelf's loop (111.., 121..) or of the room."""
        number = tag.partition("-")[2]
        if self.room is not None and number == "110":
            return "room"
        return next((name for name, shelf in self.all_shelves().items() if number[:3] == str(shelf.loop)), None)

    def start(self, now_s: float) -> None:
        """The 24 V are back."""
        for device in self.devices().values():
            device.start(now_s)

    def stop(self, now_s: float) -> None:
        for device in self.devices().values():
            device.stop(now_s)

    def drive(self, *, mains: bool, now_s: float, dt_s: float) -> None:
        """Move the outputs, and tell the plant what they can give; called before the plant moves on."""
        power = self._power
        if power is None:
            return
        power.mains = mains
        ac, feeding_kw = power.ac, 0.0
        for shelf in self.shelves.values():
            shelf.drive(ac=ac, now_s=now_s, dt_s=dt_s)
            feeding_kw += shelf.capacity_kw
        power.shelves_kw = feeding_kw
        charging_kw, feeds = 0.0, False
        for battery in self.batteries.values():
            battery.drive(permit=power.permit_coil, shelves_feed=power.shelves_feed, now_s=now_s)
            charging_kw += battery.charges_kw
            feeds = feeds or battery.can_feed
        power.battery_feeds, power.charging_kw = feeds, charging_kw
        if self.batteries:
            self._move_charge(power, dt_s)

    def _move_charge(self, power: ShelvedPower, dt_s: float) -> None:
        for battery in self.batteries.values():
            battery.move(self._battery_kw(battery, power), dt_s)

    def _battery_kw(self, battery: BatteryShelf, power: ShelvedPower) -> float:
        """Its share of what the batteries give together, or take (below 0)."""
        if power.on_battery:
            whole = sum(one.capacity_kwh for one in self.batteries.values() if one.can_feed)
            return power.from_batteries_kw * battery.capacity_kwh / whole if battery.can_feed else 0.0
        wanted = power.charging_kw
        return -power.charges_kw * battery.charges_kw / wanted if wanted > 0.0 else 0.0

    def step(self, now_s: float, dt_s: float) -> None:
        """Bring the registers up to date when it is time; a step of 0 s does at once."""
        self._since_s += dt_s
        if dt_s > 0.0 and self._since_s + 1e-9 < SHOW_S:
            return
        since_s, self._since_s = self._since_s, 0.0
        power = self._power
        if power is not None:
            self._show_shelves(power, now_s, since_s)
        if self.room is not None:
            self.room.step(self.air_c, self.humidity_pct, now_s, since_s)

    def _show_shelves(self, power: ShelvedPower, now_s: float, dt_s: float) -> None:
        volts = power.busbar_v
        for shelf in self.shelves.values():
            share = shelf.capacity_kw / power.shelves_kw if power.shelves_kw > 0.0 else 0.0
            kw = power.from_shelves_kw * share
            shelf.show(ShelfTruth(power.ac, kw, volts, self.air_c, power.limited), now_s, dt_s)
        for battery in self.batteries.values():
            battery.show(BatteryTruth(self._battery_kw(battery, power), volts, self.air_c), now_s, dt_s)

    def document(self) -> dict[str, object]:
        """The truth, for the snapshot."""
        power = self._power
        return {
            "air_c": self.air_c,
            "humidity_pct": self.humidity_pct,
            "door_open": self.room is not None and self.room.door_open,
            "shelves": {name: {"on": one.on, "firmware": one.mailbox.running} for name, one in self.shelves.items()},
            "batteries": {
                name: {"on": one.on, "charge_pct": round(one.charge_pct, 3), "inhibited": one.inhibited}
                for name, one in self.batteries.items()
            },
            "from_shelves_kw": 0.0 if power is None else round(power.from_shelves_kw, 3),
            "from_batteries_kw": 0.0 if power is None else round(power.from_batteries_kw, 3),
        }

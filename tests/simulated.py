"""Which simulated device stands for which profile, and a rack that has them all."""

from dataclasses import replace

from firmware_sim.bank import Bank
from firmware_sim.bench_config import demo_bench
from firmware_sim.parts.makers.catalogue import MAKERS
from firmware_sim.power_rig import PowerSetting

RACK = "r01"
DEVICE_OF = {
    "racky_valve-controller": "valve_controller",
    "racky_loop-transmitters": "transmitters",
    "racky_leak-panel": "leak_panel",
    "racky_busbar-meter": "busbar_meter",
    "racky_cdu": "cdu",
    "racky_power-shelf": "power_shelf_1",
    "racky_battery-shelf": "battery_shelf_1",
    "racky_room": "room",
    "belimo_energy-valve-v4": "belimo-energy-valve-v4",
    "danfoss_novocon-m": "danfoss-novocon-m",
    "rle_seahawk-ld": "rle-seahawk-ld2100",
    "rle_seahawk-10k": "rle-seahawk-10k",
    "rle_ldra6": "rle-ldra6",
    "delta_orv3-rpu": "delta-orv3-rpu",
    "ocp_orv3-psu": "orv3-psu",
    "ocp_orv3-hpr-psu": "orv3-hpr-psu",
    "delta_power-shelf": "delta-power-shelf",
    "delta_pmm": "delta-pmm",
    "raritan_xerus-pdu": "raritan-xerus-pdu",
    "schneider_pm5xxx": "schneider-pm5560",
    "moxa_iologik-e1242": "moxa-iologik-e1242",
    "waveshare_relay-8ch": "waveshare-relay-8ch",
    "generic_4-20ma": "current-loops-8ch",
}
"""Profile -> device; each typed by itself from the maker's pages."""


def endpoint_of(profile: str) -> str:
    """Name of the endpoint that the profile describes."""
    device = DEVICE_OF[profile]
    return device if device == "cdu" else f"{RACK}/{device}"


def full_rack(seconds: float = 2.0) -> Bank:
    """A rack in service with every device, some seconds later; time stands still unless it is advanced."""
    config = demo_bench(1)
    power = PowerSetting(shelves_kw=(180.0,), batteries_kwh=(4.0,), room=True)
    bank = Bank(replace(config, racks=(replace(config.racks[0], also=tuple(MAKERS), power=power),)))
    bank.book.add("battery_empty", rack=RACK, device="battery_shelf_1", value=60.0)  # so that it is charged
    bank.advance(seconds)
    return bank

"""Shelves on the bench: when they are silent, and what a rack is delivered with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware_sim.fault_book import FaultRefusedError

if TYPE_CHECKING:
    from firmware_sim.bank import Bank
    from firmware_sim.power_rig import PowerRig
    from firmware_sim.wire import Endpoint


def follow_shelves(rack: str, power: PowerRig, endpoints: dict[str, Endpoint]) -> None:
    """A shelf is silent without its 24 V and while its controller starts."""
    for name, shelf in power.all_shelves().items():
        endpoint = endpoints[f"{rack}/{name}"]
        if shelf.answers is not endpoint.supplied:
            endpoint.set_power(supplied=shelf.answers)


def deliver(bank: Bank) -> None:
    """Begin the faults that the racks are delivered with. Raises ValueError for one that cannot be."""
    for setting in bank.config.racks:
        for one in setting.faults:
            try:
                bank.book.add(
                    one.kind, rack=setting.name, tag=one.tag, device=one.device, place=one.place, value=one.value
                )
            except FaultRefusedError as error:
                raise ValueError(f"rack {setting.name}: {error}") from error

"""What the bench's devices are and say, with nobody touching them."""

from collections.abc import Callable

import pytest

from bench.hil.identity import identities
from bench.hil.plan import FAST, OUTPUTS, Plan, Stand
from bench.hil.simulated import SimulatedRack
from bench.hil.stand import Rack

OBJECT = {"product": "product_code"}
"""What the bench's file calls otherwise than the standard's object."""
LATE_MS = 400.0
LATE_S = 2.5


@pytest.mark.does(Plan(Stand.ISOLATED, speed=FAST))
def test_every_device_is_what_the_bench_file_and_its_profile_say(rack: Rack, measured: Callable[..., None]) -> None:
    found = {one.bus: one for one in identities(rack.config)}
    wrong = [f"{bus}: {one.error}" for bus, one in found.items() if one.error]
    wrong += [f"{bus}: is not what profile {one.profile} describes" for bus, one in found.items() if one.fits is False]
    for bus, expected in rack.bench.data.devices.items():
        for key, value in expected.model_dump(exclude_none=True).items():
            said = found[bus].objects.get(OBJECT.get(key, key))
            if said != value:
                wrong.append(f"{bus}: {key} is {said!r}, not {value!r}")
    for bus, one in found.items():
        measured(bus, one.objects.get("revision", "says no revision"))
    assert not wrong, "\n".join(wrong)


@pytest.mark.does(Plan(Stand.IN_SERVICE, OUTPUTS))
def test_every_configured_point_reads_good_and_within_its_range(rack: Rack, measured: Callable[..., None]) -> None:
    begun_s = rack.watch.now_s()
    slow_s = rack.config.data.scan.normal_s * 3
    rack.watch.wait(lambda: True if rack.watch.since("XI-101", begun_s + slow_s) else None, 10.0 + slow_s, "readings")
    wrong = []
    for tag, place in rack.config.inputs.items():
        low, high = rack.config.profiles[place.bus].points[place.point].range or (float("-inf"), float("inf"))
        samples = rack.watch.since(tag, begun_s)
        wrong += [f"{tag}: {one}" for one in samples if one.value is None or not low <= one.value <= high][:1]
        wrong += [] if samples else [f"{tag}: never read"]
    measured("points", len(rack.config.inputs))
    assert not wrong, "\n".join(wrong)


@pytest.mark.sim_only
@pytest.mark.does(Plan(Stand.ISOLATED, speed=FAST))
def test_no_late_reply_is_taken_for_the_answer_to_another_request(
    rack: SimulatedRack, measured: Callable[..., None]
) -> None:
    tags = [tag for tag, place in rack.config.inputs.items() if place.bus == "transmitters"]
    before = {tag: rack.watch.latest(tag).value or 0.0 for tag in tags}
    begun_s = rack.watch.now_s()
    rack.fault("late_reply", device="transmitters", value=LATE_MS)
    rack.watch.wait(
        lambda: True if rack.watch.now_s() > begun_s + LATE_S else None, LATE_S + 5.0, "the end of the trouble"
    )
    rack.heal("transmitters")
    seen = {tag: rack.watch.since(tag, begun_s) for tag in tags}
    assert any(one.value is None for samples in seen.values() for one in samples), "nothing was late"
    wrong = [
        f"{tag} was {one.value:g}, {before[tag]:g} before"
        for tag, samples in seen.items()
        for one in samples
        if one.value is not None and abs(one.value - before[tag]) > max(2.0, 0.05 * abs(before[tag]))
    ]
    measured("values while replies were late", sum(len(samples) for samples in seen.values()))
    assert not wrong, "\n".join(wrong[:5])

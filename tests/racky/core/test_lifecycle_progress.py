"""How far a run is: never backwards, all of it at the end."""

from dataclasses import replace

from racky.core.lifecycle_chart import State, Step
from racky.core.lifecycle_progress import EXPECTED, Progress, progress
from racky.core.view import View
from tests.racky.core.paper_life import PaperLife
from tests.racky.core.plans import NAMES, PAPER, identities, identity, on_paper
from tests.racky.core.test_lifecycle import Wired


def of(rack: PaperLife) -> Progress | None:
    return progress(View(rack.copy().sight(), rack.memory, rack.setup))


def test_a_run_goes_from_nothing_to_all_and_never_back() -> None:
    rack = PaperLife().until(State.IDENTIFIED)
    assert of(rack) is None
    rack.admit()
    seen = list[Progress]()
    while rack.life is not State.PRODUCTION:
        one = of(rack)
        assert one is not None
        seen.append(one)
        rack.step()
    percents = [one.percent for one in seen]
    assert percents == sorted(percents)
    assert percents[0] < 10.0
    assert percents[-1] > 90.0
    etas = [one.eta_s for one in seen]
    assert etas == sorted(etas, reverse=True)
    assert of(rack) is None


def test_a_step_that_takes_longer_than_expected_stands_still() -> None:
    rack = PaperLife(refuses="no").admit()
    rack.memory = replace(
        rack.memory, life=replace(rack.memory.life, step_s=rack.now_s - EXPECTED[Step.FILL](PAPER.times))
    )
    before = of(rack)
    rack.memory = replace(rack.memory, life=replace(rack.memory.life, step_s=0.0))
    assert of(rack) == before
    rack.setup = replace(rack.setup, plan=None)
    assert of(rack) is None


def test_an_update_counts_by_what_the_device_has() -> None:
    wired = Wired()
    rack = PaperLife(found=identities() | {NAMES[0]: identity(NAMES[0], "1.0.0")}, devices={NAMES[0]: wired}).admit()
    seen = list[float]()
    while rack.life is State.FIRMWARE:
        one = of(rack)
        assert one is not None
        seen.append(one.percent)
        rack.step()
    assert len(set(seen)) > 5
    assert max(seen) > 5.0


def test_an_image_that_is_gone_counts_as_nothing() -> None:
    rack = PaperLife(found=identities() | {NAMES[0]: identity(NAMES[0], "1.0.0")}).admit().run(2.0)
    rack.setup = on_paper(replace(PAPER, images={}))
    one = of(rack)
    assert one is not None
    assert one.percent == 0.0

"""The bench: `pytest tests/hil --target sim|hil --bench FILE [--dry-run] [--destructive]`.

Every test starts on a rack that is nominal, which is looked at and not believed, and leaves it so, which is looked at
as well. What a test may do to the field stands in its ``does`` mark: `--dry-run` prints it, and a run holds it against
what the simulator saw written.
"""

import contextlib
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from bench.demo.plots import Line, Plot
from bench.hil.file import Loaded, load
from bench.hil.plan import Plan, Stand
from bench.hil.racks import Racks
from bench.hil.report import Fact, Found, Run, write
from bench.hil.stand import SETTLE_S, Rack
from fieldkit.errors import ConfigError

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
OUT = ROOT / "build" / "hil"
RUN: pytest.StashKey[Run] = pytest.StashKey()
PAGE: pytest.StashKey[Path] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("bench")
    group.addoption("--target", choices=("sim", "hil"), default="sim", help="the simulator, or the hardware of --bench")
    group.addoption("--bench", type=Path, default=ROOT / "configs" / "bench.yaml", help="the bench's file")
    group.addoption("--dry-run", action="store_true", help="print what each test would do, and touch nothing")
    group.addoption(
        "--destructive", action="store_true", help="with --target hil: also what takes a rack out of service"
    )
    group.addoption("--report", type=Path, default=OUT / "report.html", help="where the page goes; junit.xml beside it")


def option(config: pytest.Config, name: str) -> Any:
    """An option of ours, its default where these tests are a part of a larger run."""
    defaults = {"target": "sim", "bench": ROOT / "configs" / "bench.yaml", "report": OUT / "report.html"}
    return config.getoption(name, defaults.get(name, False))


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    config.stash[RUN] = Run(option(config, "target"))
    if option(config, "dry_run") or not hasattr(config.option, "target"):
        return  # nothing is run, or these tests are a part of a larger run, which has reports of its own
    config.stash[PAGE] = option(config, "report")
    if not config.option.xmlpath:
        config.option.xmlpath = str(option(config, "report").parent / "junit.xml")


# -- what is run ------------------------------------------------------------------------------------------------------


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    target, dry = option(config, "target"), option(config, "dry_run")
    ours = sorted((item for item in items if HERE in item.path.parents), key=_turn)
    items[:] = [item for item in items if HERE not in item.path.parents] + ours
    for item in items:
        if HERE not in item.path.parents:
            continue
        if target == "sim":
            item.add_marker(pytest.mark.flaky(reruns=1, reruns_delay=1))
        else:
            item.add_marker(pytest.mark.timeout(0), append=False)
        if not dry and (why := skipped(item, target, destructive=option(config, "destructive"))):
            item.add_marker(pytest.mark.skip(reason=why))


def _turn(item: pytest.Item) -> tuple[int, float, bool]:
    """Tests that share a rack come one after the other, what takes it out of service last."""
    plan, order = plan_of(item), [Stand.ISOLATED, Stand.IN_SERVICE, Stand.NOTHING]
    return order.index(plan.stand), plan.speed, item.get_closest_marker("destructive") is not None


def skipped(item: pytest.Item, target: str, *, destructive: bool) -> str | None:
    """Why an item is not run on a target."""
    if item.get_closest_marker("sim_only") and target == "hil":
        return "only the simulator can do that"
    if item.get_closest_marker("hil_only") and target == "sim":
        return "needs hardware and a person"
    if item.get_closest_marker("destructive") and target == "hil" and not destructive:
        return "takes the rack out of service: say --destructive"
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    if not option(session.config, "dry_run") or session.testsfailed:
        return None
    target = option(session.config, "target")
    bench = loaded(session.config)
    print(f"\nDRY RUN, nothing is touched. Target {target}, bench {bench.path}, rack {bench.rack.file}")
    if target == "sim":
        print("Target sim: a simulator on free loopback ports stands in for these devices.")
    for item in session.items:
        print(f"\n{item.nodeid}\n  {sentence(item)}")
        marks = [name for name in ("sim_only", "hil_only", "destructive") if item.get_closest_marker(name)]
        if (why := skipped(item, target, destructive=option(session.config, "destructive"))) is not None:
            print(f"  skipped   {why}")
        if marks:
            print(f"  marks     {', '.join(marks)}")
        for line in plan_of(item).lines(bench):
            print(f"  {line}")
    return True


def loaded(config: pytest.Config) -> Loaded:
    try:
        return load(option(config, "bench"))
    except ConfigError as error:
        pytest.exit(f"{option(config, 'bench')}: {error.counted}", returncode=2)


def plan_of(item: pytest.Item) -> Plan:
    mark = item.get_closest_marker("does")
    plan = mark.args[0] if mark is not None else Plan()
    callspec = getattr(item, "callspec", None)
    return plan.of(**callspec.params) if callspec is not None else plan


def sentence(item: pytest.Item) -> str:
    """A test's name as the sentence that it is, with what it is about."""
    name, _, about = item.name.partition("[")
    text = name.removeprefix("test_").replace("_", " ")
    return text[:1].upper() + text[1:] + (f" ({about.removesuffix(']')})" if about else "")


# -- the report -------------------------------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if HERE in item.path.parents:
        run = item.config.stash[RUN]
        found = run.found.setdefault(item.nodeid, Found(item.nodeid, sentence(item)))
        if report.when == "setup" and not report.skipped:
            found.outcome, found.why = "passed", ""
        found.duration_s += report.duration
        if report.failed:
            found.outcome, found.why = ("failed" if report.when == "call" else "error"), report.longreprtext[-4000:]
        elif report.skipped:
            found.outcome, found.why = "skipped", str(report.longrepr[2] if isinstance(report.longrepr, tuple) else "")
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    if PAGE in session.config.stash and session.config.stash[RUN].found:
        write(session.config.stash[RUN], session.config.stash[PAGE])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if PAGE in config.stash and config.stash[RUN].found:
        terminalreporter.write_line(f"bench report: {config.stash[PAGE]}")


# -- the racks --------------------------------------------------------------------------------------------------------


def say(config: pytest.Config, text: str) -> None:
    """Tell the person at the bench something, whatever pytest captures."""
    capture = config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture is not None else contextlib.nullcontext():
        print(f"\n>>> {text}", flush=True)


@pytest.fixture(scope="session")
def racks(
    pytestconfig: pytest.Config,
    tmp_path_factory: pytest.TempPathFactory,
    record_testsuite_property: Callable[[str, object], None],
) -> Generator[Racks, None, None]:
    all_racks = Racks(
        option(pytestconfig, "bench"),
        tmp_path_factory.mktemp("bench"),
        pytestconfig.stash[RUN],
        told=record_testsuite_property,
        say=lambda text: say(pytestconfig, text),
    )
    yield all_racks
    all_racks.clear()


@pytest.fixture
def found(request: pytest.FixtureRequest) -> Found:
    """What the report says of this test."""
    return request.config.stash[RUN].found.setdefault(
        request.node.nodeid, Found(request.node.nodeid, sentence(request.node))
    )


@pytest.fixture
def measured(found: Found, record_property: Callable[[str, object], None]) -> Callable[..., None]:
    """Note what was measured, for the page and for JUnit: ``measured(what, value, bound)``."""
    found.facts.clear()

    def note(what: str, value: object, bound: object = "") -> None:
        found.facts.append(Fact(what, str(value), str(bound)))
        record_property(what.replace(" ", "_"), f"{value}" + (f" (bound {bound})" if bound else ""))

    return note


@pytest.fixture
def rack(request: pytest.FixtureRequest, racks: Racks, found: Found) -> Generator[Rack, None, None]:
    """The rack, nominal; and nominal again behind the test, or the test fails."""
    plan = plan_of(request.node)
    try:
        one = racks.stand(plan)
    except ConfigError as error:
        pytest.exit(f"{option(request.config, 'bench')}: {error.counted}", returncode=2)
    patience_s = SETTLE_S
    if not one.simulated and one.await_nominal(SETTLE_S):
        say(request.config, f"the rack must be {one.stand}. Now: {'; '.join(one.wrong()[:6])}")
        patience_s = one.bench.data.operator_s
    if wrong := one.await_nominal(patience_s):
        one.lasts = False
        pytest.fail("not nominal before the test:\n" + "\n".join(wrong))
    one.begin(plan)
    begun_s = one.watch.now_s()
    if request.node.get_closest_marker("destructive") and plan.stand is Stand.IN_SERVICE:
        one.lasts = not one.simulated  # people bring a real rack back; a simulated one is built anew
    yield one
    _plots(one, found, begun_s)
    problems = one.undeclared()
    problems += one.restore()
    if problems:
        one.lasts = False
        pytest.fail("not nominal after the test:\n" + "\n".join(problems))


def _plots(rack: Rack, found: Found, begun_s: float) -> None:
    found.plots.clear()
    ended_s = rack.watch.now_s()
    tags = rack.watch.changed(begun_s)[:8]
    if ended_s - begun_s < 0.2 or not tags:
        return
    times, curves = rack.watch.curves([*tags, "FT-101", "FT-102"], begun_s, ended_s)
    t_s = [at_s * rack.speed for at_s in times]
    colours = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#777777")
    steps = [
        Line(tag, [value * 0.8 + len(tags) - 1 - n for value in curves[tag]], colours[n]) for n, tag in enumerate(tags)
    ]
    flows = [Line(tag, curves[tag], colours[n]) for n, tag in enumerate(("FT-101", "FT-102"))]
    found.plots.append((
        "s",
        [Plot("contacts and coils, each 0 or 1", "", t_s, steps), Plot("flow", "L/min", t_s, flows)],
    ))

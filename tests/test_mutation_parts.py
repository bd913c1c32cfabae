"""The parts of the mutation run: what may be tried beside the original, in which order, and what is kept of it."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import pytest

from tests.mutants import Mutant, mutants_of
from tests.mutation_baseline import Baseline, baseline, files_of
from tests.mutation_choice import choose
from tests.mutation_hunt import Orders, stages_of
from tests.mutation_store import Store, Verdict, digest_of
from tests.mutation_swap import CannotSwapError, functions_in, swap

TOY = dedent("""
    from functools import cache

    LIMIT = 3


    def outer(values: list[int]) -> list[bool]:
        def above(value: int) -> bool:
            return value > LIMIT
        return [above(value) for value in values]


    @cache
    def doubled(value: int) -> int:
        return value * 2


    class Gauge:
        factor: int = 4

        def __init__(self, value: int) -> None:
            self.value = value

        @property
        def scaled(self) -> int:
            return self.value + self.factor


    table = {"doubled": doubled}
""")


def mutant(what: str, source: str = TOY, path: str = "toy/limit.py") -> Mutant:
    return next(m for m in mutants_of(source, path) if m.id.endswith(what))


# --- swapping ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "toy" / "limit.py"
    file.parent.mkdir()
    file.write_text(TOY, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("toy_limit", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop("toy_limit", None)


def test_a_function_runs_the_mutant_whoever_holds_it(toy: ModuleType) -> None:
    held = toy.table["doubled"]
    swap(mutant("doubled::Mult to Div::1"), TOY, functions_in("toy/limit.py"))
    assert held(4) == toy.doubled(4) == 2.0


def test_a_function_within_a_function_and_a_property_can_be_swapped(toy: ModuleType) -> None:
    living = functions_in("toy/limit.py")
    gauge = toy.Gauge(5)
    swap(mutant("outer.above::Gt to GtE [0]::1"), TOY, living)
    swap(mutant("Gauge.scaled::Add to Sub::1"), TOY, living)
    assert toy.outer([2, 3, 4]) == [False, True, True]
    assert gauge.scaled == 1


def test_what_runs_at_import_cannot_be_swapped(toy: ModuleType) -> None:
    with pytest.raises(CannotSwapError):
        swap(mutant("<module>::3 up::1"), TOY, functions_in("toy/limit.py"))


# --- the record of the tests ----------------------------------------------------------------------------------------------

CHECKS = dedent("""
    import pytest
    from toy.limit import LIMIT, doubled, outer, Gauge

    AT_COLLECTION = outer([1])

    @pytest.fixture(scope="module")
    def gauge():
        return Gauge(2)

    def test_cached_first(): assert doubled(3) == 6
    def test_cached_again(): assert doubled(3) == 6
    def test_shared_first(gauge): assert gauge
    def test_shared_again(gauge): assert gauge
""")
OTHER = "from toy.limit import outer\n\ndef test_outer(): assert outer([4]) == [True]\n"


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Baseline:
    monkeypatch.chdir(tmp_path)
    for name, text in (("toy/limit.py", TOY), ("checks/test_one.py", CHECKS), ("checks/test_other.py", OTHER)):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return baseline(Path("toy"), ["checks"], workers=2)


def told(base: Baseline, what: str) -> tuple[set[str], set[str]]:
    warm, cold = base.tests_for(mutant(what))
    return {base.tests[n].partition("::")[2] for n in base.numbers(warm)}, {
        base.tests[n].partition("::")[2] for n in base.numbers(cold)
    }


def test_each_line_has_the_tests_that_can_tell(base: Baseline) -> None:
    everything = {test.partition("::")[2] for test in base.tests}
    assert len(everything) == 5
    assert told(base, "<module>::3 up::1") == (set(), everything), "a table concerns everybody"
    assert told(base, "doubled::Mult to Div::1") == ({"test_cached_first", "test_cached_again"}, set())
    assert told(base, "outer.above::Gt to GtE [0]::1") == ({"test_outer"}, everything - {"test_outer"})
    assert told(base, "Gauge.scaled::Add to Sub::1") == (set(), set()), "nobody runs it"


def test_what_a_shared_fixture_runs_concerns_every_test_of_its_file(base: Baseline) -> None:
    lines = [
        line for (path, line), _tests in base.touching.items() if "self.value = value" in TOY.splitlines()[line - 1]
    ]
    assert len(lines) == 1
    tests = base.numbers(base.touching["toy/limit.py", lines[0]])
    assert {base.tests[n].partition("::")[0] for n in tests} == {"checks/test_one.py"}
    assert len(tests) == 4


def test_folders_are_expanded_without_what_is_ignored(tmp_path: Path) -> None:
    for name in ("a/test_1.py", "a/b/test_2.py", "a/wire/test_3.py", "a/helper.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = files_of([str(tmp_path / "a"), f"--ignore={tmp_path}/a/wire", str(tmp_path / "a" / "test_1.py")])
    assert [file.name for file in found] == ["test_2.py", "test_1.py"]


# --- orders -----------------------------------------------------------------------------------------------------------------


def flat(*took_s: float, hints: dict[str, str] | None = None, excused: frozenset[str] = frozenset()) -> Orders:
    tests = tuple(f"t/test_{n}.py::test" for n in range(len(took_s)))
    base = Baseline(tests, took_s, frozenset(), {}, {("toy/limit.py", 15): (1 << len(took_s)) - 1}, ())
    return Orders(base, hints or {}, excused)


ONE = mutant("doubled::Mult to Div::1")


def test_quick_tests_go_first_and_those_that_killed_near_by_before_them() -> None:
    orders = flat(0.3, 0.1, 0.2)
    assert orders.order(ONE, 0b111) == [1, 2, 0]
    orders.learn(mutant("doubled::2 up::1"), "t/test_0.py::test")
    assert orders.order(ONE, 0b111) == [0, 1, 2]
    assert orders.order(ONE, 0b110) == [1, 2]


def test_a_file_that_imports_from_the_module_goes_before_a_quicker_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "test_1.py").write_text("from toy.limits import other\n", encoding="utf-8")
    (tmp_path / "t" / "test_2.py").write_text("from toy.limit import doubled\n", encoding="utf-8")
    assert flat(0.1, 0.2, 0.3).order(ONE, 0b111) == [2, 0, 1]


def test_the_last_killer_goes_before_all() -> None:
    assert flat(0.1, 0.2, 9.0, hints={ONE.id: "t/test_2.py::test"}).order(ONE, 0b111) == [2, 0, 1]


def test_what_is_excused_is_tried_for_a_while_only() -> None:
    assert flat(6.0, 7.0, 8.0, excused=frozenset({ONE.id})).order(ONE, 0b111) == [0, 1]


def test_stages_cut_by_file_and_lose_no_test() -> None:
    tests = [f"f{n % 20}::t{n}" for n in range(60)]
    stages = stages_of(range(60), tests)
    assert sorted(n for stage in stages for n in stage) == list(range(60))
    assert [len({tests[n].partition("::")[0] for n in stage}) for stage in stages] == [1, 3, 12, 4]


# --- the choice -------------------------------------------------------------------------------------------------------------

MANY = [m for path in ("a.py", "b.py", "c.py") for m in mutants_of("x = [" + "1, " * 40 + "]", path)]
LONG = {"a.py": 10, "b.py": 30, "c.py": 20}


def chosen(mutants: list[Mutant], total: int, seed: int = 0) -> dict[str, set[str]]:
    found = choose(mutants, LONG, total, seed)
    return {path: {m.id for m in found if m.path == path} for path in LONG}


def test_each_module_gives_its_share_of_the_choice() -> None:
    assert {path: len(ids) for path, ids in chosen(MANY, 60).items()} == LONG


def test_what_a_short_module_lacks_the_others_give() -> None:
    few = [m for m in MANY if m.path != "b.py"] + [m for m in MANY if m.path == "b.py"][:6]
    assert {path: len(ids) for path, ids in chosen(few, 60).items()} == {"a.py": 18, "b.py": 6, "c.py": 36}


def test_no_more_are_chosen_than_there_are() -> None:
    assert len(choose(MANY, LONG, 10_000, 0)) == len(MANY)


def test_the_choice_is_the_same_in_each_run_in_whatever_order_and_another_for_another_seed() -> None:
    assert chosen(MANY, 60) == chosen(MANY[::-1], 60) != chosen(MANY, 60, seed=1)


def test_a_change_of_one_module_leaves_the_choice_of_the_others_nearly_as_it_was() -> None:
    longer = choose(MANY, LONG | {"a.py": 12}, 60, 0)
    for path in ("b.py", "c.py"):
        assert len(chosen(MANY, 60)[path] ^ {m.id for m in longer if m.path == path}) <= 2


# --- what is kept -------------------------------------------------------------------------------------------------------------


def test_a_verdict_holds_for_its_tree_and_is_a_hint_for_the_next(tmp_path: Path) -> None:
    Store(tmp_path, "tree-1").note("m", Verdict("killed", "t::a"))
    with (tmp_path / "verdicts.jsonl").open("a") as file:
        file.write('{"tree": "tree-1", "id": "cut o')
    Store(tmp_path, "tree-1").note("n", Verdict("survived", ""))
    same, other = Store(tmp_path, "tree-1"), Store(tmp_path, "tree-2")
    assert (same.known["m"], same.known["n"]) == (Verdict("killed", "t::a"), Verdict("survived", ""))
    assert (other.known, other.hints) == ({}, {"m": "t::a"})


def test_a_record_is_recalled_for_its_tree_only(tmp_path: Path) -> None:
    Store(tmp_path, "tree-1").keep("baseline", [1, 2])
    assert Store(tmp_path, "tree-1").recall("baseline") == [1, 2]
    assert Store(tmp_path, "tree-2").recall("baseline") is None


def test_any_change_of_a_file_of_its_name_or_of_the_tests_run_makes_another_tree(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n", encoding="utf-8")
    digests = [digest_of([tmp_path], "tests"), digest_of([tmp_path], "tests/a")]
    (tmp_path / "a.py").write_text("x = 2\n", encoding="utf-8")
    digests.append(digest_of([tmp_path], "tests"))
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    digests.append(digest_of([tmp_path], "tests"))
    assert len(set(digests)) == 4

"""Break a package in many small ways; every one must fail a test. `make mutation` runs it over valvey/core.

A run tries a choice of the mutants, the same in each run, dense enough for what is asked of this project and spread
over all modules; `SAMPLE=all` tries every one. First the tests run once, whole, with a record of which test touches which line; then each mutant is tried against the
tests that can tell it apart, those first that killed a mutant near by before, until one fails. Verdicts are kept under
build/mutation, so a run that was interrupted goes on, and one after a change begins with the test that killed last.

A mutant that no test could ever tell from the original is listed in tests/mutation_equivalent.yaml with its reason;
an entry that names nothing, or that a test does kill, is an error.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from tests.mutants import Mutant, code_lines, mutants_of
from tests.mutation_baseline import Baseline, baseline
from tests.mutation_choice import choose
from tests.mutation_hunt import SUSPECTED, Orders, hunt_cold, hunt_warm
from tests.mutation_store import Store, Verdict, digest_of

MIN_PER_100_LINES = 25.0
"""Mutants that a run must have tried, for all code lines of the package."""
CHOSEN_PER_100_LINES = 26.0
"""Mutants of the ordinary choice: what is listed as equivalent among them leaves enough."""
MAX_EQUIVALENT = 0.03
"""Share of what was tried that may be listed as equivalent."""
#: Tests that no mutant is tried against: those on a wire take real time, and those that step whole plants nine tenths of
#: the record's, while a mutant that only they would notice lacks a test that says what is right.
LEFT_OUT = (
    "tests/wire", "tests/hil", "tests/firmware_sim", "tests/racky", "tests/bench",
    "tests/valvey/core/loop/test_on_the_plant.py", "tests/valvey/core/loop/test_following_on_the_plant.py",
)  # fmt: skip
#: Folders and files that decide what a test does; those that are there.
TREE = ("fieldkit", "valvey", "racky", "firmware_sim", "bench", "tests", "configs", "docs", "pyproject.toml")


@dataclass
class Tally:
    """Outcomes by mutant id."""

    outcome: dict[str, str] = field(default_factory=dict)

    def of(self, outcome: str) -> list[str]:
        return [mutant for mutant, what in self.outcome.items() if what == outcome]


class Hunt:
    """Try mutants, those warm that can be, and note each verdict in the store."""

    def __init__(
        self, sources: Mapping[str, str], store: Store, excused: Collection[str], until_s: float, *, quick: bool
    ) -> None:  # fmt: skip
        self.sources, self.store, self.excused, self.until_s = sources, store, frozenset(excused), until_s
        self.quick = quick
        self.tally = Tally()
        self.began_s = time.monotonic()

    def run(self, mutants: Sequence[Mutant], base: Baseline, tests: Sequence[str], workers: int) -> Tally:
        known = self.store.known
        self.tally.outcome |= {mutant.id: known[mutant.id].outcome for mutant in mutants if mutant.id in known}
        orders = Orders(base, dict(self.store.hints), self.excused, self.quick)
        new = [mutant for mutant in mutants if mutant.id not in known]
        plans = {mutant.id: base.tests_for(mutant) for mutant in new}
        print(f"{len(mutants) - len(new)} verdicts are known, {len(new)} mutants are to be tried", flush=True)
        for mutant in new:
            if plans[mutant.id] == (0, 0):
                self._note(mutant, "survived", "")  # no test runs it
        again: list[tuple[Mutant, int]] = []

        def warm_told(mutant: Mutant, outcome: str, killer: str) -> None:
            if outcome == "survived" and (cold := plans[mutant.id][1]):
                again.append((mutant, cold))
            else:
                self._note(mutant, outcome, killer)

        warm = [mutant for mutant in new if plans[mutant.id][0]]
        if new:  # with no mutant to try, too: it looks whether every recorded test is there
            unswapped = hunt_warm(warm, self.sources, orders, workers, tests, warm_told, self.until_s)
            again += [(mutant, sum(plans[mutant.id])) for mutant in unswapped]
        again += [(mutant, plans[mutant.id][1]) for mutant in new if not plans[mutant.id][0] and plans[mutant.id][1]]
        hunt_cold(again, self.sources, orders, workers, self._note, self.until_s)
        return self.tally

    def _note(self, mutant: Mutant, outcome: str, killer: str) -> None:
        if outcome == SUSPECTED:
            print(f"suspected: {mutant.id}  ({mutant.path}:{mutant.line})", flush=True)
            return
        self.tally.outcome[mutant.id] = outcome
        self.store.note(mutant.id, Verdict(outcome, killer))
        if outcome == "timeout" or (outcome == "survived" and mutant.id not in self.excused):
            print(f"{outcome}: {mutant.id}  ({mutant.path}:{mutant.line})", flush=True)
        if len(self.tally.outcome) % 250 == 0:
            print(f"{len(self.tally.outcome)} verdicts after {time.monotonic() - self.began_s:.0f} s", flush=True)


def read_equivalents(file: Path) -> dict[str, str]:
    """Reasons by mutant id; raise SystemExit for an entry without one."""
    rows = yaml.safe_load(file.read_text(encoding="utf-8")) if file.exists() else None
    reasons = {row["id"]: str(row.get("reason") or "").strip() for row in rows or []}
    if bare := [mutant for mutant, reason in reasons.items() if len(reason.split()) < 3]:
        raise SystemExit(f"mutation: {file}: no reason is given for {', '.join(bare)}")
    return reasons


def report_of(
    tally: Tally, reasons: Mapping[str, str], choice: str, chosen: int, total: int, lines: int
) -> dict[str, object]:
    survivors = [mutant for mutant in tally.of("survived") if mutant not in reasons]
    return {
        "mutants": total,
        "choice": choice,
        "chosen": chosen,
        "complete": len(tally.outcome) == chosen,
        "tried": len(tally.outcome),
        "tried_per_100_lines": round(100.0 * len(tally.outcome) / max(1, lines), 1),
        "killed": len(tally.of("killed")),
        "survived": len(survivors),
        "timeout": len(tally.of("timeout")),
        "equivalent": [{"id": mutant, "reason": reason} for mutant, reason in reasons.items()],
        "code_lines": lines,
        "survivors": survivors,
    }


def complaints(tally: Tally, reasons: Mapping[str, str], known: Collection[str], lines: int) -> list[str]:
    """Everything that makes the run a failure, in sentences."""
    out = [f"no test tells {mutant} from the original" for mutant in tally.of("survived") if mutant not in reasons]
    out += [f"{mutant} is listed as equivalent and does not exist" for mutant in reasons if mutant not in known]
    killed = {*tally.of("killed"), *tally.of("timeout")}
    out += [f"{mutant} is listed as equivalent, but a test tells it apart" for mutant in reasons if mutant in killed]
    tried, excused = len(tally.outcome), sum(1 for mutant in reasons if mutant in tally.outcome)
    if tried * 100.0 < MIN_PER_100_LINES * lines:
        out.append(f"{tried} mutants tried for {lines} code lines are fewer than {MIN_PER_100_LINES:.0f} per 100")
    if excused > MAX_EQUIVALENT * tried:
        out.append(f"{excused} equivalents of {tried} mutants tried are more than {MAX_EQUIVALENT:.0%}")
    return out


def by_module(tally: Tally, reasons: Collection[str], mutants: Sequence[Mutant]) -> dict[str, dict[str, int]]:
    """How many of the chosen mutants of each module there are, were killed, survived (listed or not)."""
    out: dict[str, dict[str, int]] = {}
    for mutant in mutants:
        outcome = tally.outcome.get(mutant.id)
        row = out.setdefault(mutant.path, {"mutants": 0, "killed": 0, "survived": 0, "equivalent": 0})
        row["mutants"] += 1
        if outcome == "survived":
            row["equivalent" if mutant.id in reasons else "survived"] += 1
        elif outcome is not None:
            row["killed"] += 1
    return out


def how_many(sample: str, lines: int, *, only: bool) -> tuple[str, int | None]:
    """Return what was asked for in words, and how many that is; None: all that there are.

    Raise SystemExit for what is neither a number nor a word known here.
    """
    if sample == "all" or (only and not sample):
        return "all that are named" if only else "all", None
    if sample and (not sample.isdecimal() or int(sample) == 0):
        raise SystemExit(f"mutation: SAMPLE is '{sample}'; it may be a number from 1, or `all`")
    if sample:
        return "a sample spread over the modules by their code", int(sample)
    many = math.ceil(CHOSEN_PER_100_LINES * lines / 100.0)
    return f"{CHOSEN_PER_100_LINES:.0f} per 100 code lines, of each module its share", many


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--package", type=Path, default=Path("valvey/core"))
    parser.add_argument("--tests", nargs="+", default=["tests"])
    parser.add_argument("--ignore", nargs="*", default=LEFT_OUT, help="folders and files of the tests")
    parser.add_argument("--leave-out-failing", action="store_true", help="go on without tests that fail as it is")
    parser.add_argument("--only", nargs="+", default=[""], help="mutants whose id contains one of these")
    parser.add_argument(
        "--sample", default="", help="try this many, or `all`; else as many as must be, of each module its share"
    )
    parser.add_argument("--seed", type=int, default=0, help="makes another choice")
    parser.add_argument("--for-s", type=float, default=float("inf"), help="begin no mutant later than this")
    parser.add_argument("--quick", action="store_true", help="name what lives past the likeliest tests; no verdict")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--equivalents", type=Path, default=Path("tests/mutation_equivalent.yaml"))
    parser.add_argument("--folder", type=Path, default=Path("build/mutation"), help="for verdicts, and the report")
    parser.add_argument("--report", type=Path, help="instead of report.json in that folder")
    args = parser.parse_args(argv)
    began_s = time.monotonic()
    tests = [*args.tests, *(f"--ignore={path}" for path in args.ignore)]

    sources = {str(path): path.read_text(encoding="utf-8") for path in sorted(args.package.rglob("*.py"))}
    mutants = [mutant for path, source in sources.items() for mutant in mutants_of(source, path)]
    lines = {path: code_lines(source) for path, source in sources.items()}
    reasons = read_equivalents(args.equivalents)
    named = [mutant for mutant in mutants if any(word in mutant.id for word in args.only)]
    choice, many = how_many(args.sample, sum(lines.values()), only=args.only != [""])
    chosen = choose(named, lines, len(named) if many is None else many, args.seed)
    print(f"{len(mutants)} mutants in {sum(lines.values())} code lines of {args.package}", flush=True)
    print(f"chosen: {len(chosen)}, {choice}", flush=True)

    deciding = (*map(Path, TREE), args.package, *(Path(test) for test in args.tests if Path(test).exists()))
    tree = digest_of((path for path in dict.fromkeys(deciding) if path.exists()), " ".join(tests))
    store = Store(args.folder, tree)
    base = store.recall("baseline")
    if base is None:
        base = baseline(args.package, tests, workers=args.workers, leave_out_failing=args.leave_out_failing)
        store.keep("baseline", base)
        print(f"{len(base.tests)} tests concern it; they took {time.monotonic() - began_s:.0f} s", flush=True)
    hunt = Hunt(sources, store, reasons, began_s + args.for_s, quick=args.quick)
    tally = hunt.run(chosen, base, tests, args.workers)
    report = report_of(tally, reasons, choice, len(chosen), len(mutants), sum(lines.values()))
    report["modules"] = by_module(tally, reasons, chosen)
    file = args.report or args.folder / "report.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    found = complaints(tally, reasons, {mutant.id for mutant in mutants}, sum(lines.values()))
    print("\n".join(found))
    counted = ", ".join(f"{report[key]} {key}" for key in ("tried", "killed", "survived", "timeout"))
    print(f"{counted} of {len(chosen)} ({choice}), {len(reasons)} equivalent, in {time.monotonic() - began_s:.0f} s")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

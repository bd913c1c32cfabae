"""``python -m tests.fuzz --runs N``: every target, two at a time; exit code 1 when one of them crashed.

New inputs are kept in build/fuzz; ``--keep`` merges what adds coverage into the corpus of the repository.
"""

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

from tests.fuzz.targets import TARGETS

ROOT = Path(__file__).parents[2]
CORPUS = Path(__file__).parent / "corpus"
BUILD = ROOT / "build" / "fuzz"
GUIDED = find_spec("atheris") is not None
HANGS_S = 20
"""One input may take so long; a target that hangs is a crash."""


def command(target: str, runs: int, seed: int) -> list[str]:
    own, kept, crashes = BUILD / target, CORPUS / target, BUILD / "crashes"
    for folder in (own, crashes, kept):
        folder.mkdir(parents=True, exist_ok=True)
    start = [sys.executable, "-m", "tests.fuzz.one", target]
    if not GUIDED:
        return [*start, "blind", str(runs), str(seed), str(crashes), str(kept), str(own)]
    options = {
        "runs": runs,
        "seed": seed,
        "max_len": TARGETS[target][2],
        "timeout": HANGS_S,
        "artifact_prefix": f"{crashes}/{target}-",
        "print_final_stats": 1,
    }
    return [*start, "atheris", *(f"-{name}={value}" for name, value in options.items()), str(own), str(kept)]


def run(target: str, runs: int, seed: int) -> bool:
    began_s = time.monotonic()
    log = BUILD / f"{target}.log"
    BUILD.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as out:
        code = subprocess.run(command(target, runs, seed), cwd=ROOT, stdout=out, stderr=out, check=False).returncode
    took_s = time.monotonic() - began_s
    print(f"{target:16} {runs:9} runs {took_s:7.1f} s  {'ok' if code == 0 else f'CRASHED: {log}'}", flush=True)
    if code:
        print("\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-40:]), flush=True)
    return code == 0


def keep(target: str) -> None:
    """Merge what adds coverage into the repository's corpus."""
    words = [f"-max_len={TARGETS[target][2]}", "-merge=1", str(CORPUS / target), str(BUILD / target)]
    start = [sys.executable, "-m", "tests.fuzz.one", target, "atheris"]
    subprocess.run([*start, *words], cwd=ROOT, check=True, capture_output=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--runs", type=int, default=200_000, help="of all targets together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", choices=TARGETS, help="only this one")
    parser.add_argument("--keep", action="store_true", help="merge new inputs into the repository's corpus")
    parser.add_argument("--replay", type=Path, help="run one input on --target, outside the engine")
    asked = parser.parse_args()
    if asked.replay is not None:
        if asked.target is None:
            parser.error("--replay needs --target")
        TARGETS[asked.target][0](asked.replay.read_bytes())
        return 0
    if not GUIDED:
        print("atheris has no wheel for this Python: inputs are varied by chance, not guided by coverage", flush=True)
    names = [asked.target] if asked.target else list(TARGETS)
    parts = {name: 1.0 if asked.target else TARGETS[name][1] for name in names}
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        good = list(pool.map(lambda name: run(name, max(1, round(parts[name] * asked.runs)), asked.seed), names))
    if asked.keep and GUIDED:
        for name in names:
            keep(name)
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())

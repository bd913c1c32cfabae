"""One target under one engine, in a process of its own: ``python -m tests.fuzz.one TARGET ENGINE …``.

``atheris`` (libFuzzer for Python) is guided by coverage: an input that reaches a new branch of ours is kept and varied
on. Where it has no wheel, ``blind`` varies the kept corpus by chance alone, and says so.
"""

import random
import sys
from pathlib import Path

OURS = ["fieldkit", "valvey"]


def guided(target: str, words: list[str]) -> None:
    """Hand over to libFuzzer, which does not return."""
    import atheris

    with atheris.instrument_imports(include=OURS):
        from tests.fuzz.targets import TARGETS
    again = f"{sys.executable} -m {__spec__.name} {target} atheris"  # what a merge starts, through a shell
    atheris.Setup([again, *words], TARGETS[target][0])
    atheris.Fuzz()


def blind(target: str, runs: int, seed: int, corpus: list[Path], crash: Path) -> int:
    """Vary the corpus; return 1 and leave the input that failed in ``crash``."""
    from tests.fuzz.targets import TARGETS

    function, _, most = TARGETS[target]
    chance = random.Random(f"{seed} {target}")
    known = [path.read_bytes() for folder in corpus for path in sorted(folder.glob("*")) if path.is_file()] or [b""]
    for number in range(runs):
        data = known[number] if number < len(known) else varied(chance, known, most)
        try:
            function(data)
        except BaseException:
            crash.mkdir(parents=True, exist_ok=True)
            (crash / f"{target}-crash-{number}").write_bytes(data)
            raise
    print(f"Done {runs} runs, not guided by coverage")
    return 0


def varied(chance: random.Random, known: list[bytes], most: int) -> bytes:
    data = bytearray(chance.choice(known))
    for _ in range(1 + chance.randrange(4)):
        at = chance.randrange(len(data) + 1)
        kind = chance.randrange(4)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            data[at:at] = chance.randbytes(1 + chance.randrange(4))
        elif kind == 2:
            del data[at : at + 1 + chance.randrange(4)]
        else:
            data[at : at + 8] = chance.choice((b"\x00", b"\xff", b"\x7f", b"\x80")) * chance.randrange(1, 9)
    return bytes(data[:most])


if __name__ == "__main__":
    if sys.argv[2] == "atheris":
        guided(sys.argv[1], sys.argv[3:])
    else:
        _, name, _, count, number, place, *folders = sys.argv
        sys.exit(blind(name, int(count), int(number), [Path(folder) for folder in folders], Path(place)))

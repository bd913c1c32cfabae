"""Which mutants a run tries: as many of each module as its share of the code asks, always the same ones.

A mutant's place in the choice comes from its id alone, so a change of one module leaves the choice of the others as it
was, but for those that its longer or shorter text gives away or takes.
"""

import hashlib
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from tests.mutants import Mutant


def choose(mutants: Sequence[Mutant], lines: Mapping[str, int], total: int, seed: int) -> list[Mutant]:
    """Return ``total`` of the mutants, or all when there are fewer, spread over the modules by ``lines`` of code.

    A module that has fewer than its share gives all it has; the others make up for it.
    """
    of_module: dict[str, list[Mutant]] = defaultdict(list)
    for mutant in sorted(mutants, key=lambda mutant: _place(mutant, seed)):
        of_module[mutant.path].append(mutant)
    share = _shares({path: len(found) for path, found in of_module.items()}, lines, min(total, len(mutants)))
    chosen = [mutant for path, found in of_module.items() for mutant in found[: share[path]]]
    return sorted(chosen, key=lambda mutant: _place(mutant, seed))


def _place(mutant: Mutant, seed: int) -> bytes:
    return hashlib.sha256(f"{seed} {mutant.id}".encode()).digest()


def _shares(has: Mapping[str, int], lines: Mapping[str, int], total: int) -> dict[str, int]:
    """How many of each module: by its lines, at least one, never more than it has."""
    share: dict[str, int] = {}
    left = total
    scarce = sorted(has, key=lambda path: (has[path] / max(1, lines[path]), path))
    for at, path in enumerate(scarce):  # those that have least for their length first: the rest knows what is left
        rest = sum(max(1, lines[other]) for other in scarce[at:])
        share[path] = min(has[path], math.ceil(left * max(1, lines[path]) / rest), left)
        left -= share[path]
    return share

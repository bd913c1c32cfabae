"""Put a mutant into functions that are already imported: the function stays, its code is another.

Whoever holds the function - another module's import, a table - runs the mutant. What was computed from it before stays
as it was: so this is only for lines that run neither when their module is imported nor while tests are collected.
"""

import gc
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType

from tests.mutants import Mutant, apply

Place = tuple[str, str, int]


class CannotSwapError(Exception):
    """The mutant needs a fresh import of its module."""


def functions_in(package: str) -> dict[Place, list[FunctionType]]:
    """Every living function of the files under ``package``, by (path, qualified name, first line)."""
    found: dict[Place, list[FunctionType]] = defaultdict(list)
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and package in thing.__code__.co_filename:
            found[_place(thing.__code__)].append(thing)
    return found


def swap(mutant: Mutant, source: str, living: Mapping[Place, list[FunctionType]]) -> None:
    """Give the mutant's code to the function it is in, to the outermost one when it is in one within another."""
    codes = _outermost(compile(apply(source, mutant), mutant.path, "exec"))
    around = [code for code in codes if code.co_firstlineno <= mutant.span[0] and _names(code, mutant)]
    if not around:
        raise CannotSwapError(mutant.id)
    code = max(around, key=lambda code: code.co_firstlineno)
    functions = living.get(_place(code), [])
    if not functions or any(function.__code__.co_freevars != code.co_freevars for function in functions):
        raise CannotSwapError(mutant.id)
    for function in functions:
        function.__code__ = code


def _names(code: CodeType, mutant: Mutant) -> bool:
    """Whether the mutant stands in that function, or in one within it."""
    return f"{mutant.where}.".startswith(f"{code.co_qualname}.")


def _place(code: CodeType) -> Place:
    return os.path.relpath(code.co_filename), code.co_qualname, code.co_firstlineno


def _outermost(code: CodeType) -> Iterator[CodeType]:
    """The functions of a module and of its classes, not those within functions."""
    for part in code.co_consts:
        if isinstance(part, CodeType):
            if part.co_flags & 0x2:  # CO_NEWLOCALS: a function; a class's body has none
                yield part
            else:
                yield from _outermost(part)

"""The root of a rising function, for equations that have exactly one answer."""

from collections.abc import Callable


def rising_root(function: Callable[[float], float], start: float, lowest: float, step: float = 1e-4) -> float:
    """Where a rising ``function`` is 0: brackets outwards from ``start``, then false position with Illinois' halving.

    lowest   the search never goes below; returned when the function is still positive there
    step     first stride of the bracket, grows sixfold
    """
    a, fa = start, function(start)
    if fa > 0.0:
        step = -step
    b = max(lowest, a + step)
    fb = function(b)
    while fa * fb > 0.0:
        if b <= lowest or b > 1e6:
            return b
        a, fa = b, fb
        step *= 6.0
        b = max(lowest, b + step)
        fb = function(b)
    for _ in range(60):
        if abs(b - a) < 1e-10 or abs(fb) < 1e-13:
            break
        c = b - fb * (b - a) / (fb - fa)
        fc = function(c)
        if fc * fb < 0.0:
            a, fa = b, fb
        else:
            fa *= 0.5
        b, fb = c, fc
    return b

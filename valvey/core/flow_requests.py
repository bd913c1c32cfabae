"""The request ``set_point``: an opening, a flow, a temperature rise, a most of power, or back to the load alone."""

from collections.abc import Callable

from fieldkit.frozen import replace
from fieldkit.request import Answered, accepted, refused
from valvey.core.facts import Fact, FactKind
from valvey.core.flow_hunting import calm
from valvey.core.flow_setpoint import ask, bounds
from valvey.core.flow_state import Mode, tuning_for
from valvey.core.memory import Memory
from valvey.core.requests import SET_POINTS, Request
from valvey.core.steering import flow_lpm, seen_by, take_over
from valvey.core.view import View

MODES = {"fcv_pct": Mode.POSITION, "flow_lpm": Mode.FLOW, "delta_k": Mode.DELTA_T, "power_kw": Mode.POWER_LIMITED}
UNITS = {"fcv_pct": "%", "flow_lpm": "L/min", "delta_k": "K", "power_kw": "kW"}


def _position(view: View) -> str | None:
    return None if view.number("ZT-101") is not None else "ZT-101"


def _flow(view: View) -> str | None:
    return None if flow_lpm(view) is not None else "FT-101 or FT-102"


def _load(view: View) -> str | None:
    if view.best("JT-101", "ET-101") is not None:
        return _flow(view)
    return "JT-101 or ET-101"


#: What each kind of set-point cannot do without.
_NEEDS: dict[str, Callable[[View], str | None]] = {
    "fcv_pct": _position,
    "flow_lpm": _flow,
    "delta_k": _load,
    "power_kw": _load,
}


def set_point(view: View, request: Request) -> tuple[Memory, Answered, tuple[Fact, ...]]:
    """Take over another set-point; the flow goes there on a ramp, from where it is."""
    memory, tuning = view.memory, tuning_for(view.limits)
    given = [name for name in SET_POINTS if request.args.get(name) is not None]
    auto = bool(request.args.get("auto"))
    if len(given) + auto != 1:
        told = f"{', '.join(given)}{' and auto' if auto else ''}" if given else "no set-point"
        return memory, refused(request, "args", f"{told} given", f"one of {', '.join(SET_POINTS)}, or auto: true"), ()
    mode, value = Mode.DELTA_T, None
    if given:
        name = given[0]
        mode, value = MODES[name], float(request.args[name])
        low, high = bounds(mode, tuning)
        if not low <= value <= high:
            reason = f"{name} is {value:g} {UNITS[name]}"
            return memory, refused(request, "args", reason, f"{low:.4g} to {high:.4g} {UNITS[name]}"), ()
        lost = _NEEDS[name](view)
        if lost is not None:
            return memory, refused(request, "reading", f"{lost} cannot be believed", f"a good reading of {lost}"), ()
    steering = memory.steering
    if steering is None or not steering.active:
        steering = take_over(view, steering, seen_by(view), tuning)
    control = ask(calm(steering.control), mode, value, tuning)  # whoever asks has looked at a valve that is held
    fields = {
        "mode": mode, **({given[0]: value} if given else {"auto": True}), "by": request.by, "client": request.client,
        "why": request.why,
    }  # fmt: skip
    done = replace(memory, steering=replace(steering, control=control))
    return done, accepted(request), (Fact(FactKind.SET_POINT, view.now_s, fields),)

"""The code's tables as Markdown: what SAFETY.md and docs/generated say is what the code does."""

from fieldkit.alarm import TABLE as ALARM_TABLE
from fieldkit.chart import Row, mermaid
from fieldkit.markdown import table
from fieldkit.tag import TAGS
from fieldkit.tag_power import POWER_TAGS
from valvey.core.adoption import ADOPTION
from valvey.core.alarm_rows import ALARM_ROWS
from valvey.core.chart import CHART, OUTPUTS, Demand, State, Throttle
from valvey.core.gate import ENERGISE, FILLING_MAX_PCT, STROKE
from valvey.core.limits import Limits
from valvey.core.memory import Effect
from valvey.core.policy import DEFAULT_POLICY
from valvey.core.procedures import STEPS
from valvey.core.requests import REQUESTS
from valvey.core.trips import NEVER_BYPASSED, Trip, rows_for
from valvey.derived import POINTS
from valvey.needs import WIRING, senses_of

HELD_BY_LOAD = frozenset({"SIF-4"})
"""Rows whose judge says how long: the hold in the table is the shortest."""


def _states(states: frozenset[State]) -> str:
    """Name the states, or those that are left out when these are fewer."""
    if len(states) == len(State):
        return "always"
    left = [state for state in State if state not in states]
    return "all but " + ", ".join(left) if len(left) <= 2 else ", ".join(state for state in State if state in states)


def _effect(row: Trip) -> str:
    if row.shadow:
        return f"{row.effect}, told only"
    if row.cap:
        return "power cap"
    if row.effect is Effect.NONE:
        return "latch and tell" if row.blind_effect is None else "when blind only"
    return str(row.effect)


def _hold(row: Trip) -> str:
    if row.key in HELD_BY_LOAD:
        return "230 kW / load, 1..3 s"
    return f"{row.hold_s:g} s" if row.hold_s else "at once"


def _blind(row: Trip) -> str:
    if row.blind_s is None:
        return "alarm" if row.sif.startswith("SIF") else "-"
    return f"{row.blind_s:g} s: {row.blind_effect or 'alarm'}"


def trips() -> str:
    rows = rows_for(Limits(policy=DEFAULT_POLICY))
    heads = ("row", "cause", "reads", "vote", "armed in", "hold", "without a believable vote", "effect", "bypass")
    return table(
        heads,
        (
            (
                row.key,
                row.title,
                ", ".join(senses_of(row, DEFAULT_POLICY)) or "-",
                row.vote,
                _states(row.armed),
                _hold(row),
                _blind(row),
                _effect(row),
                "never" if row.sif in NEVER_BYPASSED or not row.sif.startswith("SIF") else "bounded",
            )
            for row in rows
        ),
    )


def policy() -> str:
    heads = ("rule", "detectors", "how many", "for", "second symptom", "does")
    return table(
        heads,
        (
            (
                rule.name,
                ", ".join(rule.detectors),
                rule.count,
                f"{rule.persist_s:g} s" if rule.persist_s else "at once",
                "yes" if rule.second_symptom else "no",
                rule.action,
            )
            for rule in DEFAULT_POLICY
        ),
    )


def outputs() -> str:
    heads = ("state", "step", "XS-101", "XV-101", "XV-102", "XV-103", "XV-104", "FCV-101")
    return table(heads, ((state, step, *_demand(demand)) for (state, step), demand in OUTPUTS.items()))


def _demand(demand: Demand | None) -> tuple[str, ...]:
    if demand is None:
        return ("no write",) * 6
    valves = (demand.xv_101, demand.xv_102, demand.xv_103, demand.xv_104)
    throttle = {Throttle.SHUT: "shut", Throttle.LOW: "low", Throttle.FILL: "fill", Throttle.KEEP: "as kept"}[
        demand.fcv_101
    ]
    return ("on" if demand.xs_101 else "off", *("open" if one else "shut" for one in valves), throttle)


def steps() -> str:
    limits = Limits()
    heads = ("state", "step", "leads to", "after it held for", "may take", "then", "fails by")
    return table(
        heads,
        (
            (
                row.state,
                row.step,
                row.then,
                f"{row.hold_s(limits):g} s",
                "-" if row.overdue_s is None else f"{row.overdue_s(limits):g} s",
                row.overdue,
                ", ".join(fail.name for fail in row.fails) or "-",
            )
            for row in STEPS
        ),
    )


def gate() -> str:
    rules = [(tag, "energise", _first_line(rule.__doc__)) for tag, rule in ENERGISE.items()]
    throttle = f"0 in shut states; up to {FILLING_MAX_PCT:g} %open in FILLING; up to 100 %open in OPENING, FLOWING, UNLOADING, COOLDOWN"
    stroke = "in FLOWING, with both isolation valves held and neither shut, nothing locked or latched; in one scan"
    return table(
        ("tag", "what", "passes only if"),
        [*rules, ("FCV-101", "opening", throttle), (STROKE, "partial stroke", stroke)],
    )


def _first_line(text: str | None) -> str:
    return (text or "").strip().splitlines()[0]


def chart() -> str:
    return f"```mermaid\n{mermaid(CHART, State.STARTUP)}```\n"


def rows() -> str:
    return table(("event", "from", "to", "only if"), ((row.event, row.source, row.dest, row.guard) for row in CHART))


def adoption() -> str:
    heads = ("#", "memory", "field", "event")
    return table(heads, ((n, row.memory, row.field, row.event) for n, row in enumerate(ADOPTION, 1)))


def requests() -> str:
    heads = ("request", "class", "what it does", "where", "roles", "arguments", "reason", "permissives", "succeeds in")
    out = []
    for row in REQUESTS.values():
        args = ", ".join(name if arg.needed else f"[{name}]" for name, arg in row.args.items())
        goal = ", ".join(state for state in State if state in row.goal)
        permissives = ", ".join(one.__name__ for one in row.permissives)
        roles = ", ".join(sorted(row.roles))
        why = "needed" if row.why else "-"
        out.append((
            row.name,
            row.kind,
            row.text,
            _states(row.states),
            roles,
            args or "-",
            why,
            permissives or "-",
            goal or "at once",
        ))
    return table(heads, out)


def alarms() -> str:
    heads = ("alarm", "priority", "cause", "consequence", "action", "respond within", "on / off delay")
    return table(
        heads,
        (
            (
                row.id,
                f"{row.priority}{', trip' if row.trip else ''}",
                row.cause,
                row.consequence,
                row.action,
                f"{row.respond_s:g} s",
                f"{row.on_delay_s:g} / {row.off_delay_s:g} s",
            )
            for row in ALARM_ROWS
        ),
    )


def alarm_life() -> str:
    stays = tuple(Row(str(r.event), str(r.source), str(r.dest), r.guard) for r in ALARM_TABLE)
    return f"```mermaid\n{mermaid(stays, 'NORMAL')}```\n"


def glossary() -> str:
    heads = ("tag", "what", "unit", "range", "1 means", "signal", "owner")
    return table(
        heads,
        (
            (
                row.tag,
                row.description,
                row.unit,
                None if row.range is None else f"{row.range[0]:g}..{row.range[1]:g}",
                row.means,
                row.signal,
                row.owner,
            )
            for row in (*TAGS, *POWER_TAGS)
        ),
    )


def worked_out() -> str:
    return table(
        ("worked out, told in the telemetry", "what", "unit"), ((one.tag, one.description, one.unit) for one in POINTS)
    )


def wiring() -> str:
    return table(("id", "what has to be wired"), WIRING.items())

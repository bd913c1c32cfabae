"""The coordinator's tables as Markdown: what SAFETY.md and docs/generated/loop.md say is what its code does."""

from fieldkit.markdown import table
from valvey.core import leasing
from valvey.core.awaiting import ANSWER_S
from valvey.core.chart import State
from valvey.core.lending import WAIT_S
from valvey.core.loop import gate
from valvey.core.loop.alarms import ALARM_ROWS
from valvey.core.loop.asking import AGAIN_S
from valvey.core.loop.events import EVENTS
from valvey.core.loop.limits import Action, LoopLimits
from valvey.core.loop.plan import UNITS
from valvey.core.loop.requests import REQUESTS
from valvey.core.loop.seen import MOVING, SHUT
from valvey.core.loop.stopping import HOLD_S
from valvey.core.loop.works import WORKS

_DEFAULT = LoopLimits(racks={}, bounds={}, dead_head_kpa=1.0, design_dp_kpa=1.0, rated_lpm=1.0)
"""What a loop's file that tunes nothing means."""


def events() -> str:
    """What is judged, and what racks are asked for it unless the site's policy says otherwise."""
    heads = ("event", "cause", "must last", "racks are asked")
    return table(
        heads,
        (
            (row.name, row.text, f"{row.hold_s(_DEFAULT):g} s" if row.hold_s(_DEFAULT) else "at once", _asked(row.name))
            for row in EVENTS
        ),
    )


def _asked(name: str) -> str:
    action = _DEFAULT.actions.get(name, Action.TELL)
    return "nothing; by policy dark or isolate" if action is Action.TELL and name != "pumps-stopped" else "nothing"


def whitelist() -> str:
    heads = ("what", "is written only", "within", "one step")
    rows = [
        (point, f"while the CDU's mode is {mode}", f"the site's bounds, never below {gate.FLOORS[mode]:g} {UNITS[mode]}", f"at most {100 * gate.STEP_FRACTION:g} %")
        for point, mode in gate.ALLOWED.items()
    ]  # fmt: skip
    rows.append((
        gate.SUPPLY,
        "where the loop's file has bounds for it, in any mode",
        "the site's bounds",
        f"at most {gate.SUPPLY_STEP_C:g} K",
    ))
    rows.append((
        gate.RUN,
        "where policy.pump_stop allows it, and while every rack is proven dark",
        "0: stop. Never 1",
        "-",
    ))
    return table(heads, [*rows, ("all else", "never", "-", "-")])


def leases() -> str:
    ttl_s, grace_s = _DEFAULT.ttl_s, _DEFAULT.grace_s
    rows = (
        ("length", f"{ttl_s:g} s, counted by the rack from the sending of its last answered message"),
        ("renewal", f"every {leasing.RENEW_S:g} s; an unanswered ask again after {leasing.ASK_AGAIN_S:g} s"),
        ("freed by the coordinator", f"{ttl_s + grace_s:g} s after its last reply: never before the rack has stopped"),
        ("told", "a lease only once it is on disk; a refusal at once, with what would allow it"),
        (
            "revoked at its next renewal",
            ", ".join(row.name for row in WORKS.values() if row.stays)
            + " while a loop event stands or the pumps are to be stopped: the rack shuts",
        ),
        ("start", "epoch = 1 + the highest of its disk and of the racks' retained states"),
        ("after a start", f"any lease that is presented is adopted; nothing is granted for {ttl_s:g} s"),
        ("a higher epoch seen later", f"as good as a start: nothing is granted for {ttl_s:g} s"),
        ("lower epochs", "refused by the racks"),
        (
            "opening work without one",
            f"waits {ANSWER_S:g} s for the answer, then is refused: with its reason, or that there is none",
        ),
        ("a planned isolation without one", f"waits {WAIT_S:g} s, then goes on and says that it is uncoordinated"),
        (
            "a rack's process starts anew",
            "it presents its lease and ends its opening work; nothing begins by a lease alone",
        ),
        ("a rack's node starts anew", "its lease is over; the highest epoch stands"),
        ("lapse in OPENING, FILLING, TESTING, DRAINING", "the rack shuts: ISOLATING, and is asked again by people"),
        ("lapse in UNLOADING, COOLDOWN, ISOLATING", "the rack goes on and says so: closing is never held up"),
        (
            "two coordinators",
            "one lock file for one machine; on the bus each hears the other: neither grants or writes",
        ),
    )
    return table(("rule", "is"), rows)


def works() -> str:
    heads = ("work", "what it is", "takes a slot", "is granted only if (each refusal says what would allow it)")
    return table(
        heads,
        (
            (
                row.name,
                row.text,
                "yes" if row.moves else "-",
                ", ".join(rule.__name__.replace("_", " ") for rule in row.rules),
            )
            for row in WORKS.values()
        ),
    )


def requests() -> str:
    heads = ("request", "what it does", "roles", "arguments", "needs")
    return table(
        heads,
        (
            (
                row.name,
                row.text,
                ", ".join(sorted(row.roles)),
                ", ".join(sorted(row.args)) or "-",
                "expect_seq, why" if row.acts else "-",
            )
            for row in REQUESTS.values()
        ),
    )


def alarms() -> str:
    heads = ("alarm", "priority", "cause", "consequence", "action", "respond within", "on delay")
    return table(
        heads,
        (
            (
                f"loop: {row.id}",
                row.priority,
                row.cause,
                row.consequence,
                row.action,
                f"{row.respond_s:g} s",
                f"{row.on_delay_s:g} s",
            )
            for row in ALARM_ROWS
        ),
    )


def stop() -> str:
    rows = (
        ("by default", "never: the request is refused, and the gate lets no stop pass"),
        ("who", ", ".join(sorted(REQUESTS["stop_pumps"].roles)) + ", with a reason"),
        ("refused before any rack goes dark", "when the policy forbids it, a rack is not heard of, the CDU cannot be read, or another coordinator is there"),
        ("first", f"every rack is asked to go dark, again every {AGAIN_S:g} s"),
        ("proof of each rack", "chart not in service, contactor off (XI-101), bus-bar dead (ET-101), all fresh"),
        ("then", f"all proven for {HOLD_S:g} s: the pumps' command is written 0, and the gate asks for the same proof again"),
        ("given up", f"after {_DEFAULT.stop_most_s:g} s, by cancel, by a restart of the coordinator: the pumps run on"),
        ("start", "by people at the CDU only; the event stands until it is reset"),
    )  # fmt: skip
    return table(("stopping the pumps", ""), rows)


def states() -> str:
    rows = (
        ("take no flow", ", ".join(state for state in State if state in SHUT)),
        ("change their flow, and take a slot", ", ".join(state for state in State if state in MOVING) + "; COOLDOWN on its way to an isolation"),
    )  # fmt: skip
    return table(("racks that", "are in"), rows)

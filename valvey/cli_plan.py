"""``valvey request WORK CONFIG --plan``: what a work would do, as the loop's coordinator works it out. Nothing is begun.

Only the coordinator sees the CDU and all neighbours, so the plan is its own; without one there is none.
"""

import asyncio
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from fieldkit import envelope
from fieldkit.asking import RETAINED_S, NoAnswerError, UnreachableError, connected, until
from fieldkit.errors import Refusal
from fieldkit.mqtt_types import Incoming
from fieldkit.outbox import Keep
from fieldkit.topics import Daemon, Kind, Role, topic
from valvey.cli_parts import EXIT, Output, fail, tell
from valvey.core.loop.works import WORKS

if TYPE_CHECKING:
    from fieldkit.cli_asking import Target


class Loops:
    """What the broker keeps of a site's coordinators, and their answers."""

    def __init__(self) -> None:
        self.racks: dict[str, list[str]] = {}
        self.online: dict[str, bool] = {}
        self.responses: list[envelope.Response] = []
        self.news = asyncio.Event()

    def heard(self, incoming: Incoming) -> None:
        """Take one message; what is no valid payload of its topic is not believed."""
        loop, kind = incoming.topic.split("/")[3], incoming.topic.split("/")[5]
        if kind == Kind.STATE and not isinstance(told := envelope.parse(envelope.State, incoming.payload), Refusal):
            racks = told.detail.get("racks")
            self.racks[loop] = [str(rack) for rack in racks] if isinstance(racks, list) else []
        elif kind == Kind.AVAILABILITY and not isinstance(
            here := envelope.parse(envelope.Availability, incoming.payload), Refusal
        ):
            self.online[loop] = here.status == "online"
        elif kind == Kind.RESPONSE and not isinstance(
            said := envelope.parse(envelope.Response, incoming.payload), Refusal
        ):
            self.responses.append(said)
        self.news.set()

    def of(self, rack: str) -> str | None:
        """The coordinator that is there and has this rack in its file."""
        return next((loop for loop, racks in self.racks.items() if rack in racks and self.online.get(loop)), None)


async def ask(
    where: "Target", work: str, role: str, loop: str | None, timeout_s: float
) -> tuple[str, envelope.Response]:
    """Return the coordinator's name and its answer. Raises UnreachableError, NoAnswerError."""
    base, loops = f"racky/v1/{where.site}", Loops()
    node = loop or "+"
    filters = [f"{base}/{node}/loop/{what}" for what in ("state", "availability", f"response/{where.client}")]
    async with connected(where.settings, filters, loops.heard) as session:
        await until(
            lambda: loops.online.get(loop, False) if loop else loops.of(where.node) is not None, loops.news, RETAINED_S
        )
        found = loop if loop and loops.online.get(loop) else loops.of(where.node)
        if found is None:
            known = ", ".join(sorted(loops.racks)) or "none"
            raise UnreachableError(
                f"no coordinator of {where.site}/{where.node} is on the broker (known: {known}): a plan is its own to make"
            )
        request = envelope.Request(v=1, id=str(uuid.uuid4()), request="plan", args={"rack": where.node, "work": work})
        to = str(topic(where.site, found, Daemon.LOOP, Kind.REQUEST, Role(role), where.client))
        session.tell_nowait(to, request.model_dump_json(exclude_none=True).encode(), qos=1, keep=Keep.EVERY)

        def answered() -> bool:
            return any(one.id == request.id for one in loops.responses)

        if not await until(answered, loops.news, timeout_s):
            raise NoAnswerError(f"the coordinator {found} did not answer in {timeout_s:g} s")
        return found, next(one for one in loops.responses if one.id == request.id)


def show(where: "Target", work: str, role: str, loop: str | None, timeout_s: float, output: Output) -> None:
    """Print a plan; exits with 3 when the coordinator would refuse the work as things stand."""
    if work not in WORKS:
        fail(f"--plan: {work!r} moves no neighbour; there is a plan for {', '.join(WORKS)}", EXIT.USAGE)
    try:
        found, response = asyncio.run(ask(where, work, role, loop, timeout_s))
    except UnreachableError as error:
        fail(str(error), EXIT.UNREACHABLE)
    except NoAnswerError as error:
        fail(str(error), EXIT.TIMEOUT)
    if response.proof is None:
        fail(f"{found}: {response.reason} (would allow it: {response.would_allow})", EXIT.REFUSED)
    plan: Mapping[str, Any] = response.proof
    tell({"loop": found, "simulated": response.simulated, **plan}, output, text(found, response.simulated, plan))
    if plan["refused"] is not None:
        raise typer.Exit(int(EXIT.REFUSED))


def text(loop: str, simulated: bool, plan: Mapping[str, Any]) -> str:
    """A plan for people."""
    unit, lines = (
        plan["unit"],
        [f"{'SIMULATED ' if simulated else ''}{plan['work']} {plan['rack']}, as {loop} sees it now"],
    )

    def line(what: str, said: str) -> None:
        lines.append(f"{what:15} {said}")

    pct, moved, present = plan["neighbours_pct"], plan["moved_to"], plan["set_point"]
    if pct is not None:
        line("neighbours", f"{pct:+.1f} % if the CDU's set-point stayed where it is")
        for name, one in plan["neighbours"].items():
            line(f"  {name}", f"{one['now_lpm']:7.1f} L/min, left alone {one['alone_lpm']:7.1f} L/min")
    if moved is not None and present is not None:
        line("set-point", f"{present:.1f} to {moved:.1f} {unit}, so that they keep their flow")
    if plan["total_lpm"] is not None:
        line("CDU's flow", f"{plan['total_lpm']:.0f} L/min afterwards")
    minutes, seconds = divmod(round(plan["time_s"]), 60)
    line("time", f"about {minutes} min {seconds:02} s")
    if plan["volume_l"]:
        line("volume", f"{plan['volume_l']:g} L")
    if plan["return_kpa"] is not None:
        line("lowest PT-202", f"{plan['return_kpa']:.0f} kPa")
    for missing in plan["missing"]:
        line("not known", missing)
    refused = plan["refused"]
    line(
        "would be",
        "granted" if refused is None else f"refused: {refused['reason']} (allows it: {refused['would_allow']})",
    )
    return "\n".join(lines)

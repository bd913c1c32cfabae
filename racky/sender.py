"""From Racky's data to the payloads of contract 1. Nothing is sent here."""

from fieldkit import answers, envelope, letters
from fieldkit.envelope_parts import Latch, PointMeta
from fieldkit.letters import Sender, line
from fieldkit.tag_power import row_of
from racky.config import RackyConfig
from racky.core.causes import Health
from racky.core.facts import Fact
from racky.core.lifecycle_progress import Progress
from racky.core.memory import Memory, Phase
from racky.core.requests import REQUESTS
from racky.core.setup import Setup
from racky.read_model import document

SECOND_PATH = "second-trip-path"


def state(
    sender: Sender, memory: Memory, health: Health, setup: Setup, progress: Progress | None = None
) -> envelope.State:
    """The rack as it stands. ``state`` is the phase of its power; all else is in ``detail``."""
    wall, power = sender.wall_of, memory.power
    tripped = power.phase is Phase.TRIPPED
    cause = line(power.tripped or power.why)
    return envelope.State(
        simulated=sender.simulated,
        boot_id=sender.boot_id,
        wall_s=wall(memory.now_s),
        state=str(power.phase),
        step=None if setup.plan is None else str(memory.life.state),
        since_wall_s=wall(power.since_s),
        state_seq=memory.state_seq,
        latches=(Latch(sif=SECOND_PATH, since_wall_s=wall(power.since_s), cause=cause),) if tripped else (),
        locks=(),
        bypasses=(),
        armed=setup.armed,
        inventory=None,
        tested=None,
        grants=(),
        config_digest=sender.config_digest,
        detail=document(memory, health, setup, wall, progress),
    )


def state_key(memory: Memory, health: Health, progress: Progress | None = None) -> tuple[object, ...]:
    """What of it is worth a state message of its own; of a run's way each percent."""
    life, power = memory.life, memory.power
    percent = None if progress is None else int(progress.percent)
    causes = tuple((cause.id, cause.behind, cause.hidden) for cause in health.causes)
    step = (life.state, life.step, life.run, life.remark, len(life.report))
    return (
        memory.state_seq,
        causes,
        health.maintenance,
        step,
        power.shed,
        power.late,
        power.cap,
        len(memory.pending),
        percent,
    )


def event(sender: Sender, fact: Fact, seq: int) -> envelope.Event:
    return letters.event(sender, fact.kind, fact.at_s, fact.fields, seq)


def responses(sender: Sender, fact: Fact, pending: bool) -> list[envelope.Response]:
    """What a client is told of an ANSWER or ENDED fact. ``pending``: its end is still to come."""
    row = REQUESTS.get(str(fact.fields["request"]))
    at_once = row is not None and not row.goal
    return answers.responses(sender, fact.kind, fact.at_s, fact.fields, pending=pending, at_once=at_once)


def metas(config: RackyConfig) -> dict[str, PointMeta]:
    """Return what each point is that Racky reads."""
    out = {}
    for tag, place in config.inputs.items():
        profile = config.profiles[place.bus]
        point, row = profile.points[place.point], row_of(tag)
        out[tag] = PointMeta(
            unit=point.reading_unit,
            range=point.range if point.range is not None else (0.0, 1.0),
            limits={},
            profile=profile.profile,
            point=place.point,
            description="" if row is None else row.description,
            verified=point.verified,
        )
    return out

"""The rack as Racky shows it, in one form for every way out: MQTT, the command line, and whatever else comes to read it."""

from collections.abc import Callable

from pydantic import JsonValue

from fieldkit.letters import line, plain
from racky.core.causes import Cause, Health
from racky.core.life import Lifecycle
from racky.core.lifecycle_progress import Progress
from racky.core.memory import Memory, Power
from racky.core.setup import Setup

Wall = Callable[[float], float]
"""Boot time -> wall time."""


def document(
    memory: Memory, health: Health, setup: Setup, wall: Wall, progress: Progress | None = None
) -> dict[str, JsonValue]:
    """Health, power and lifecycle, with how far its run is. Times are wall times."""
    maintenance = memory.maintenance
    return {
        "health": health_of(health, wall),
        "power": power_of(memory.power, setup, wall),
        "lifecycle": None if setup.plan is None else lifecycle_of(memory.life, wall, progress),
        "maintenance": None if maintenance is None else {
            "by": line(maintenance.by), "why": line(maintenance.why), "until_wall_s": wall(maintenance.until_s),
        },
        "trays": [name for name, tray in memory.trays.items() if tray.until_s > memory.now_s],
        "memory_readable": memory.readable,
        "pending": [{"id": one.id, "request": one.request} for one in memory.pending],
    }  # fmt: skip


def health_of(health: Health, wall: Wall) -> dict[str, JsonValue]:
    """Causes, roots first; what they block; the field's words for them."""
    return {
        "healthy": health.healthy,
        "maintenance": health.maintenance,
        "causes": [cause_of(cause, wall) for cause in health.causes],
        "blocks": plain(health.blocks),
        "classifications": plain(health.classifications),
    }


def cause_of(cause: Cause, wall: Wall) -> dict[str, JsonValue]:
    return {
        "id": cause.id,
        "text": cause.text,
        "action": cause.action,
        "evidence": cause.evidence,
        "since_wall_s": round(wall(cause.since_s), 3),
        "blocks": plain(cause.blocks),
        "classifications": plain(cause.classifications),
        "behind": cause.behind,
        "hidden": cause.hidden,
    }


def power_of(power: Power, setup: Setup, wall: Wall) -> dict[str, JsonValue]:
    cap, least = power.cap, power.least
    return {
        "phase": str(power.phase),
        "why": power.why,
        "since_wall_s": round(wall(power.since_s), 3),
        "wanted": power.wanted,
        "budget_kw": setup.budget_kw,
        "cap": None if cap is None else {
            "kw": cap.kw, "by": line(cap.by), "why": line(cap.why),
            "until_wall_s": None if cap.until_s is None else wall(cap.until_s),
        },
        "least": None if least is None else {"by": least[0], "kw": round(least[1], 2)},
        "shed": list(power.shed),
        "late": plain(power.late),
        "tripped": power.tripped,
    }  # fmt: skip


def lifecycle_of(life: Lifecycle, wall: Wall, progress: Progress | None = None) -> dict[str, JsonValue]:
    return {
        "state": str(life.state),
        "step": str(life.step),
        "since_wall_s": round(wall(life.since_s), 3),
        "run": life.run,
        "by": line(life.by),
        "why": line(life.why),
        "refused_at": None if life.refused_at is None else str(life.refused_at),
        "remark": life.remark,
        "progress": None if progress is None else {"percent": progress.percent, "eta_s": progress.eta_s},
        "report": [
            {
                "gate": one.gate, "stage": str(one.stage), "text": one.text, "measured": plain(one.measured), "low": one.low,
                "high": one.high, "unit": one.unit, "ok": one.ok, "at_wall_s": round(wall(one.at_s), 3), "detail": one.detail,
                "action": one.action,
            }
            for one in life.report
        ],
    }  # fmt: skip

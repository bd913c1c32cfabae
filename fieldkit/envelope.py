"""Every payload of our MQTT tree: the single source of its JSON Schema, its AsyncAPI document and its checks.

Times: ``*_wall_s`` and the request's times are seconds since 1970 UTC (a request may write RFC 3339 text instead),
``mono_s`` is the sender's monotonic clock, comparable only within one ``boot_id``.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    Field,
    JsonValue,
    ValidationError,
    model_validator,
)

from fieldkit.alarm import Phase, Priority
from fieldkit.envelope_parts import (
    Bypass,
    Count,
    GrantHeld,
    Id,
    Latch,
    Line,
    Lock,
    Part,
    Payload,
    PointMeta,
    PointValue,
    Uuid,
    WallTime,
)
from fieldkit.errors import Refusal
from fieldkit.schema_faults import Problem, problems_of
from fieldkit.strictjson import decode, id_in
from fieldkit.topics import Kind

REQUEST_BYTES = 4096
"""Longest request."""
REQUEST_DEPTH = 6
"""Deepest nesting of a request, the object itself being 1."""
MESSAGE_BYTES = 262_144
"""Longest message of a daemon that another takes: some 2 000 points of telemetry."""
MESSAGE_DEPTH = 12


class Availability(Payload):
    """Whether the daemon is there; ``offline`` is left behind as its last will."""

    status: Literal["online", "offline"]
    version: str
    boot_id: str
    since_wall_s: float


class State(Payload):
    """Where the machine stands. ``state_seq`` rises by one at each transition, lock, latch and start, for ever."""

    boot_id: str
    wall_s: float
    state: str
    step: str | None
    since_wall_s: float
    state_seq: Count
    latches: tuple[Latch, ...]
    locks: tuple[Lock, ...]
    bypasses: tuple[Bypass, ...]
    armed: bool
    inventory: Literal["full", "part", "empty", "unknown"] | None
    """None where no coolant is held (racky, loop)."""
    tested: bool | None
    grants: tuple[GrantHeld, ...]
    config_digest: str
    detail: dict[str, JsonValue] = Field(default_factory=dict)


class Telemetry(Payload):
    """All points of one daemon at one moment, by tag."""

    boot_id: str
    seq: Count
    wall_s: float
    wall_synced: bool
    mono_s: float
    points: dict[str, PointValue]


class Meta(Payload):
    """What the points are, by tag."""

    points: dict[str, PointMeta]


class Event(Payload):
    """One fact, past tense, in order; none is lost while the broker is away for an hour."""

    boot_id: str
    seq: Count
    wall_s: float
    wall_synced: bool
    mono_s: float
    fact: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    fields: dict[str, JsonValue]


class Alarm(Payload):
    """One alarm as ISA-18.2 sees it; cleared (empty payload) when it is normal again."""

    id: Id
    state: Phase
    priority: Priority
    active: bool
    since_wall_s: float
    raised_wall_s: float | None
    count: Count
    cause: str
    consequence: str
    action: str
    respond_s: float
    runbook: str
    trip: bool
    by: Line | None = None
    why: Line | None = None
    until_wall_s: float | None = None
    """Of a shelved alarm: who, why, until when."""


class Request(Part):
    """What a client asks. Only ``v``, ``id`` and ``request`` are needed for a request that makes things safer."""

    v: Literal[1]
    simulated: bool | None = None
    id: Uuid
    request: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
    args: dict[str, JsonValue] = Field(default_factory=dict)
    by: Line | None = None
    """A comment: who asks is in the topic."""
    why: Line | None = None
    issued_at: WallTime | None = None
    expires_at: WallTime | None = None
    expect_seq: Count | None = None
    seconds: Uuid | None = None
    """Id of another client's request that this one confirms (an act of two persons)."""


class Status(StrEnum):
    """Where a request stands; the last four are ends, and so is ``refused``."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    STARTED = "started"
    PROGRESS = "progress"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


_NEEDS: dict[Status, tuple[str, ...]] = {
    Status.REFUSED: ("code", "reason", "would_allow"),
    Status.PROGRESS: ("step", "percent"),
    Status.SUCCEEDED: ("proof",),
    Status.FAILED: ("reason",),
}


class Response(Payload):
    """One step in the life of a request. ``id`` is null when the request's own could not be read."""

    id: str | None
    request: str | None
    status: Status
    wall_s: float
    state_seq: Count | None = None
    code: str | None = None
    reason: str | None = None
    would_allow: str | None = None
    step: str | None = None
    percent: Annotated[float, Field(ge=0, le=100)] | None = None
    eta_s: float | None = None
    proof: dict[str, JsonValue] | None = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        missing = [name for name in _NEEDS.get(self.status, ()) if getattr(self, name) is None]
        if missing:
            raise ValueError(f"a response {self.status} needs {', '.join(missing)}")
        return self


class Canary(Payload):
    """A daemon's message to itself: proves the way through broker and ACL."""

    boot_id: str
    seq: Count
    mono_s: float


class Lease(Payload):
    """A rack asks its loop for leave to work, renews it, or gives it back."""

    ask_id: Uuid
    """Comes back in the answer: the rack counts the grant's time from sending the ask that was answered."""
    act: Literal["ask", "renew", "give_back"]
    work: Id
    grant_id: str | None
    epoch: Count | None
    args: dict[str, JsonValue] = Field(default_factory=dict)


class Grant(Payload):
    """The loop's answer. ``granted`` false: ``reason`` and ``would_allow`` say why and what would help."""

    ask_id: Uuid
    granted: bool
    id: str | None
    epoch: Count
    ttl_s: Annotated[float, Field(ge=0)]
    work: Id
    reason: str | None = None
    would_allow: str | None = None
    args: dict[str, JsonValue] = Field(default_factory=dict)


PAYLOADS: dict[Kind, type[Part]] = {
    Kind.AVAILABILITY: Availability,
    Kind.STATE: State,
    Kind.TELEMETRY: Telemetry,
    Kind.META: Meta,
    Kind.EVENT: Event,
    Kind.ALARM: Alarm,
    Kind.REQUEST: Request,
    Kind.RESPONSE: Response,
    Kind.CANARY: Canary,
    Kind.LEASE: Lease,
    Kind.GRANT: Grant,
}

P = TypeVar("P", bound=Part)


def dump(payload: Part) -> bytes:
    """Return ``payload`` as it goes on the wire."""
    return payload.model_dump_json().encode()


def parse_request(payload: bytes) -> Request | Refusal:
    """Return the request in ``payload``, or why it is refused, with its id where that could be read. Never raises."""
    return _parse(Request, payload, REQUEST_BYTES, REQUEST_DEPTH)


def parse(model: type[P], payload: bytes) -> P | Refusal:
    """Return another daemon's ``payload`` as ``model``, or why it cannot be believed. Never raises."""
    return _parse(model, payload, MESSAGE_BYTES, MESSAGE_DEPTH)


def _parse(model: type[P], payload: bytes, most_bytes: int, most_depth: int) -> P | Refusal:
    data = decode(payload, most_bytes, most_depth)
    if isinstance(data, Refusal):
        return data
    if "v" not in data:
        return Refusal("missing_field", "v: is missing", "v: 1", id_in(data))
    if data["v"] is True:  # equals 1 in Python, and only there
        return Refusal("wrong_value", "v: true is not known", "v: 1", id_in(data))
    try:
        return model.model_validate_json(payload, strict=True)
    except ValidationError as error:
        return _refusal(problems_of(model, data, error), data)


def _refusal(problems: list[Problem], data: Mapping[str, Any]) -> Refusal:
    codes = {"unknown_key": "unknown_field", "missing": "missing_field", "value": "wrong_value"}
    texts = []
    for problem in problems:
        near = f", did you mean {problem.nearest!r}?" if problem.nearest is not None else ""
        texts.append(f"{'.'.join(map(str, problem.path)) or 'the payload'}: {problem.message}{near}")
    allowed = [f"{problem.path[-1]}: {problem.allowed}" for problem in problems if problem.allowed and problem.path]
    would = "; ".join(allowed) or "the schema of this topic"
    return Refusal(codes[problems[0].kind], "; ".join(texts)[:1000], would[:1000], id_in(dict(data)))


def schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schema of every payload, by kind: requests as they are taken, all others as they are sent."""
    return {
        str(kind): model.model_json_schema(mode="validation" if kind is Kind.REQUEST else "serialization")
        for kind, model in PAYLOADS.items()
    }

"""Every payload of the MQTT tree."""

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from fieldkit.alarm import Phase, Priority
from fieldkit.envelope import (
    MESSAGE_BYTES,
    PAYLOADS,
    REQUEST_BYTES,
    Alarm,
    Availability,
    Canary,
    Event,
    Grant,
    Lease,
    Meta,
    Request,
    Response,
    State,
    Status,
    Telemetry,
    dump,
    parse,
    parse_request,
    schemas,
)
from fieldkit.envelope_parts import Bypass, GrantHeld, Latch, Lock, Part, PointMeta, PointValue
from fieldkit.errors import Refusal
from fieldkit.point import Verified
from fieldkit.reading import Quality, Reason
from fieldkit.topics import Kind
from fieldkit.units import Unit

ID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
EXAMPLES: dict[Kind, Part] = {
    Kind.AVAILABILITY: Availability(status="online", version="0.1.0", boot_id="b1", since_wall_s=1.0, simulated=True),
    Kind.STATE: State(
        boot_id="b1",
        wall_s=2.0,
        state="FLOWING",
        step=None,
        since_wall_s=1.0,
        state_seq=7,
        latches=(Latch(sif="SIF-1", since_wall_s=1.0, cause="LDT-101 wet"),),
        locks=(Lock(owner="A. Person", why="hose", since_wall_s=1.0),),
        bypasses=(Bypass(what="LDT-101", by="A. Person", why="test", until_wall_s=9.0),),
        armed=True,
        inventory="full",
        tested=True,
        grants=(GrantHeld(id="g1", epoch=3, work="open", left_s=20.0),),
        config_digest="abc",
        simulated=True,
    ),
    Kind.TELEMETRY: Telemetry(
        boot_id="b1",
        seq=1,
        wall_s=2.0,
        wall_synced=True,
        mono_s=3.0,
        points={
            "FT-101": PointValue(value=120.5, unit=Unit.L_MIN, quality=Quality.GOOD, reason=None, age_s=0.02),
            "FT-102": PointValue(value=None, unit=Unit.L_MIN, quality=Quality.BAD, reason=Reason.NAN, age_s=0.02),
        },
        simulated=True,
    ),
    Kind.META: Meta(
        points={
            "FT-101": PointMeta(
                unit=Unit.L_MIN,
                range=(-100.0, 600.0),
                limits={"LL": 45.0},
                profile="racky_loop-transmitters",
                point="ft_101",
                description="supply flow",
                verified=Verified.MANUAL,
            )
        },
        simulated=True,
    ),
    Kind.EVENT: Event(
        boot_id="b1",
        seq=1,
        wall_s=2.0,
        wall_synced=False,
        mono_s=3.0,
        fact="sif_latched",
        fields={"sif": "SIF-1"},
        simulated=True,
    ),
    Kind.ALARM: Alarm(
        id="sif-1",
        state=Phase.UNACK,
        priority=Priority.CRITICAL,
        active=True,
        since_wall_s=2.0,
        raised_wall_s=2.0,
        count=1,
        cause="liquid",
        consequence="damage",
        action="look",
        respond_s=60.0,
        runbook="docs/operations/leak.md",
        trip=True,
        simulated=True,
    ),
    Kind.REQUEST: Request(v=1, id=ID, request="isolate", why="hose"),
    Kind.RESPONSE: Response(id=ID, request="isolate", status=Status.ACCEPTED, wall_s=2.0, simulated=True),
    Kind.CANARY: Canary(boot_id="b1", seq=1, mono_s=3.0, simulated=True),
    Kind.LEASE: Lease(ask_id=ID, act="ask", work="open", grant_id=None, epoch=None, simulated=True),
    Kind.GRANT: Grant(ask_id=ID, granted=True, id="g1", epoch=3, ttl_s=30.0, work="open", simulated=True),
}


def request(**more: Any) -> Request | Refusal:
    return parse_request(json.dumps({"v": 1, "id": ID, "request": "isolate", **more}).encode())


@pytest.mark.parametrize("kind", Kind)
def test_every_payload_comes_back_from_the_wire_and_fits_its_schema(kind: Kind) -> None:
    example = EXAMPLES[kind]
    assert type(example) is PAYLOADS[kind]
    sent = dump(example)
    assert parse(type(example), sent) == example
    schema = schemas()[kind]
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(json.loads(sent))


@pytest.mark.parametrize("kind", Kind)
def test_every_payload_has_its_version_and_says_when_it_is_simulated(kind: Kind) -> None:
    schema = schemas()[kind]
    assert "v" in schema["required"]
    assert schema["properties"]["v"]["const"] == 1
    assert "simulated" in schema["properties"]
    assert schema["additionalProperties"] is False


def test_a_message_without_a_version_is_not_believed() -> None:
    refusal = parse(Canary, b'{"simulated":true,"boot_id":"b","seq":1,"mono_s":1.0}')
    assert isinstance(refusal, Refusal)
    assert (refusal.code, refusal.would_allow) == ("missing_field", "v: 1")


def test_a_message_longer_than_a_daemon_sends_is_not_read() -> None:
    refusal = parse(Canary, b" " * (MESSAGE_BYTES + 1))
    assert isinstance(refusal, Refusal)
    assert refusal.code == "too_long"


def test_the_smallest_request_has_version_id_and_name() -> None:
    assert request() == Request(v=1, id=ID, request="isolate")


def test_times_are_seconds_or_rfc_3339_text() -> None:
    taken = request(issued_at="2026-05-01T00:00:00Z", expires_at=1777593660)
    assert isinstance(taken, Request)
    assert (taken.issued_at, taken.expires_at) == (1777593600.0, 1777593660.0)


def test_an_id_is_compared_without_its_capitals() -> None:
    taken = request(id=ID.upper())
    assert isinstance(taken, Request)
    assert taken.id == ID


@pytest.mark.parametrize(
    ("more", "code", "says"),
    [
        ({"expct_seq": 3}, "unknown_field", "did you mean 'expect_seq'?"),
        ({"v": 2}, "wrong_value", "v: 2 is not known"),
        ({"v": "1"}, "wrong_value", "v: "),
        ({"v": True}, "wrong_value", "v: "),
        ({"id": "7"}, "wrong_value", "id: '7'"),
        ({"request": "Isolate!"}, "wrong_value", "request: "),
        ({"args": []}, "wrong_value", "args: "),
        ({"expect_seq": "3"}, "wrong_value", "expect_seq: '3'"),
        ({"expect_seq": True}, "wrong_value", "expect_seq: True"),
        ({"expect_seq": -1}, "wrong_value", "expect_seq: -1"),
        ({"why": "a\nb"}, "wrong_value", "control characters"),
        ({"by": "x" * 201}, "wrong_value", "by: "),
        ({"issued_at": "yesterday"}, "wrong_value", "issued_at: "),
        ({"issued_at": "2026-05-01T00:00:00"}, "wrong_value", "issued_at: "),
    ],
)
def test_a_request_that_does_not_fit_is_refused_by_name(more: dict[str, Any], code: str, says: str) -> None:
    refusal = request(**more)
    assert isinstance(refusal, Refusal)
    assert refusal.code == code
    assert says in refusal.reason
    assert refusal.would_allow


def test_a_refused_request_can_be_answered_by_its_id() -> None:
    refusal = request(nonsense=1)
    assert isinstance(refusal, Refusal)
    assert refusal.about == ID


def test_a_request_without_an_id_is_told_what_is_missing() -> None:
    refusal = parse_request(b'{"v":1,"request":"isolate"}')
    assert isinstance(refusal, Refusal)
    assert (refusal.code, refusal.reason, refusal.about) == ("missing_field", "id: is missing", None)


def test_a_request_of_exactly_four_kibibytes_is_read_and_one_more_byte_is_not() -> None:
    body = json.dumps({"v": 1, "id": ID, "request": "isolate"}).encode()
    assert isinstance(parse_request(body.ljust(REQUEST_BYTES)), Request)
    refusal = parse_request(body.ljust(REQUEST_BYTES + 1))
    assert isinstance(refusal, Refusal)
    assert refusal.code == "too_long"


@given(st.binary(max_size=200))
def test_no_bytes_whatever_raise(payload: bytes) -> None:
    assert isinstance(parse_request(payload), Refusal)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*Request.model_fields, "nonsense"]), JSON))
def test_no_object_whatever_raises(data: dict[str, Any]) -> None:
    taken = parse_request(json.dumps({"v": 1, "id": ID, "request": "open", **data}).encode())
    assert isinstance(taken, Request | Refusal)


@pytest.mark.parametrize(
    ("status", "needs"),
    [
        (Status.REFUSED, "code, reason, would_allow"),
        (Status.PROGRESS, "step, percent"),
        (Status.SUCCEEDED, "proof"),
        (Status.FAILED, "reason"),
    ],
)
def test_an_answer_without_its_reason_or_proof_cannot_be_sent(status: Status, needs: str) -> None:
    with pytest.raises(ValidationError, match=f"a response {status} needs {needs}"):
        Response(id=ID, request="open", status=status, wall_s=1.0, simulated=False)


def test_a_refusal_is_an_answer() -> None:
    answer = Response(
        id=None,
        request=None,
        status=Status.REFUSED,
        wall_s=1.0,
        code="not_json",
        reason="r",
        would_allow="w",
        simulated=False,
    )
    assert json.loads(dump(answer))["status"] == "refused"

"""The MQTT tree."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldkit.topics import DELIVERIES, Daemon, Kind, Role, Topic, check_id, parse_topic, request_filter, topic

V = Daemon.VALVEY
IDS = st.from_regex(r"[a-z0-9_-]{1,64}", fullmatch=True)


@pytest.mark.parametrize(
    ("kind", "rest", "text"),
    [
        (Kind.STATE, (), "racky/v1/demo/r07/valvey/state"),
        (Kind.ALARM, ("sif-1",), "racky/v1/demo/r07/valvey/alarm/sif-1"),
        (Kind.REQUEST, ("operator", "desk1"), "racky/v1/demo/r07/valvey/request/operator/desk1"),
        (Kind.RESPONSE, ("desk1",), "racky/v1/demo/r07/valvey/response/desk1"),
    ],
)
def test_a_topic_is_built_and_taken_apart(kind: Kind, rest: tuple[str, ...], text: str) -> None:
    built = topic("demo", "r07", V, kind, *rest)
    assert str(built) == text
    assert parse_topic(text) == built


def test_leases_hang_under_the_loop() -> None:
    assert str(topic("demo", "cdu1", Daemon.LOOP, Kind.GRANT, "r07")) == "racky/v1/demo/cdu1/loop/grant/r07"
    assert str(topic("demo", "cdu1", Daemon.LOOP, Kind.LEASE, "r07")) == "racky/v1/demo/cdu1/loop/lease/r07"


def test_the_role_of_a_request_is_in_its_topic() -> None:
    assert topic("demo", "r07", V, Kind.REQUEST, "safety", "desk1").role is Role.SAFETY
    assert topic("demo", "r07", V, Kind.STATE).role is None


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        (("De mo", "r07", Kind.STATE), "site"),
        (("demo", "r.07", Kind.STATE), "node"),
        (("demo", "", Kind.STATE), "node"),
        (("demo", "r07\n", Kind.STATE), "node"),
        (("demo", "x" * 65, Kind.STATE), "node"),
        (("demo", "r07", Kind.STATE, "more"), "ends in its kind"),
        (("demo", "r07", Kind.ALARM), "ends in alarm id"),
        (("demo", "r07", Kind.REQUEST, "operator"), "role and client"),
        (("demo", "r07", Kind.REQUEST, "boss", "desk1"), "no role 'boss': allowed observer"),
        (("demo", "r07", Kind.REQUEST, "operator", "+"), "client"),
    ],
)
def test_a_topic_that_would_be_wrong_is_refused(parts: tuple[Any, ...], why: str) -> None:
    site, node, kind, *rest = parts
    with pytest.raises(ValueError, match=why):
        topic(site, node, V, kind, *rest)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "racky/v1/demo/r07/valvey",
        "racky/v2/demo/r07/valvey/state",
        "other/v1/demo/r07/valvey/state",
        "racky/v1/demo/r07/pump/state",
        "racky/v1/demo/r07/valvey/nonsense",
        "racky/v1/demo/r07/valvey/state/more",
        "racky/v1/demo/+/valvey/state",
        "racky/v1/demo/r07/valvey/request/boss/desk1",
    ],
)
def test_what_is_no_topic_of_ours_is_none(text: str) -> None:
    assert parse_topic(text) is None


@given(site=IDS, node=IDS, client=IDS, role=st.sampled_from(Role), daemon=st.sampled_from(Daemon))
def test_every_topic_comes_back(site: str, node: str, client: str, role: Role, daemon: Daemon) -> None:
    built = topic(site, node, daemon, Kind.REQUEST, role, client)
    assert parse_topic(str(built)) == built == Topic(site, node, daemon, Kind.REQUEST, (role, client))


def test_one_subscription_brings_all_requests_of_a_daemon() -> None:
    assert request_filter("demo", "r07", V) == "racky/v1/demo/r07/valvey/request/+/+"
    with pytest.raises(ValueError, match="node"):
        request_filter("demo", "#", V)


def test_requests_are_never_retained_and_every_kind_has_its_delivery() -> None:
    assert set(DELIVERIES) == set(Kind)
    assert {kind for kind, delivery in DELIVERIES.items() if delivery.retain} == {
        Kind.AVAILABILITY,
        Kind.STATE,
        Kind.META,
        Kind.ALARM,
    }
    assert {kind for kind, delivery in DELIVERIES.items() if delivery.qos == 0} == {Kind.TELEMETRY}


def test_an_id_is_lower_case_without_dots() -> None:
    assert check_id("r07_a-b", "node") == "r07_a-b"

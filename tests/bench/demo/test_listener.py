"""The bystander on the bus: racks and loops apart, answers by request, invalid messages counted."""

from typing import Any

from bench.demo.listener import Listener
from fieldkit import envelope
from fieldkit.envelope import Event, Response, State, Status

BASE = "racky/v1/demo"


def listener() -> tuple[Listener, list[tuple[str, str]]]:
    told: list[tuple[str, str]] = []
    made = Listener("localhost", 1, "demo", lambda node, event: told.append((node, event["fact"])))
    made._numbered = set()
    return made, told


def state(name: str) -> bytes:
    return envelope.dump(
        State(
            simulated=True, boot_id="b", wall_s=0.0, state=name, step=None, since_wall_s=0.0, state_seq=1, latches=(), locks=(),
            bypasses=(), armed=True, inventory=None, tested=None, grants=(), config_digest="d",
        )
    )  # fmt: skip


def event(fact: str, seq: int, **fields: Any) -> bytes:
    return envelope.dump(
        Event(simulated=True, boot_id="b", seq=seq, wall_s=0.0, wall_synced=True, mono_s=0.0, fact=fact, fields=fields)
    )


def test_a_loop_is_no_rack() -> None:
    bus, told = listener()
    bus._take(f"{BASE}/r01/valvey/state", state("FLOWING"))
    bus._take(f"{BASE}/cdu1/loop/state", state("SERVING"))
    bus._take(f"{BASE}/cdu1/loop/event", event("lease_granted", 1))
    assert (set(bus.racks), set(bus.loops)) == ({"r01"}, {"cdu1"})
    assert bus.loops["cdu1"].state["state"] == "SERVING"
    assert told == [("cdu1", "lease_granted")]


def test_answers_are_kept_by_request_in_their_order() -> None:
    bus, _ = listener()
    for status in (Status.ACCEPTED, Status.STARTED):
        answer = Response(simulated=True, id="one", request="drain", status=status, wall_s=0.0)
        bus._take(f"{BASE}/r01/valvey/response/demo", envelope.dump(answer))
    assert [one["status"] for one in bus.responses["one"]] == ["accepted", "started"]


def test_what_the_contract_refuses_is_counted_and_what_others_ask_is_not_judged() -> None:
    bus, _ = listener()
    bus._take(f"{BASE}/r01/valvey/state", b"{}")
    bus._take(f"{BASE}/r01/valvey/request/operator/ann", b"nonsense")
    bus._take(f"{BASE}/cdu1/loop/lease/r01", b"nonsense")
    assert (bus.invalid, bus.observed) == (1, 3)
    assert "r01/valvey/state" in bus.faults[0]


def test_events_that_were_missed_count_as_published() -> None:
    bus, _ = listener()
    for seq in (1, 2, 5):
        bus._take(f"{BASE}/r01/valvey/event", event("lock", seq))
    assert (bus.observed, bus.published) == (3, 5)

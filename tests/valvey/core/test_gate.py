"""The last door: only the whitelist passes, whatever the state, the demand and the evidence."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

import pytest

from valvey.core.chart import State
from valvey.core.gate import NO_WRITE, Admission, Evidence, Outputs, admit, pass_through

S = State
PASS, SAFE, WITHHOLD = Admission.PASS, Admission.SAFE, Admission.WITHHOLD
BITS = (True, False, None)
TAGS = ("XS-101", "XV-101", "XV-102", "XV-103", "XV-104", "FCV-101")
NAN, INF = float("nan"), float("inf")
HELD = dict.fromkeys(TAGS, True)
#: Evidence of a rack in service with everything proven.
SERVICE = Evidence(HELD, {"XV-101": False, "XV-102": False, "XV-103": True}, False, 0.1, False)


def evidence() -> Iterator[tuple[bool | None, Evidence]]:
    """Every combination of what the field may show, with the coil of the tag in question."""
    for coil, s1, s2, s3, entering, ack, locked in product(
        BITS, BITS, BITS, BITS, (True, False), (None, 1.99, 2.0), (True, False)
    ):
        shut = {"XV-101": s1, "XV-102": s2, "XV-103": s3}
        yield coil, Evidence(dict.fromkeys(TAGS, coil), shut, entering, ack, locked)


def may_be_energised(tag: str, state: State, coil: bool | None, seen: Evidence) -> Admission:
    """The whitelist of SAFETY §3, written again: the only ways to PASS, and when nothing at all is written."""
    if state is S.STARTUP:
        return WITHHOLD
    match tag:
        case "XS-101":
            if state not in {S.FLOWING, S.UNLOADING}:
                return SAFE
            if seen.valves_acknowledged_s is None or seen.valves_acknowledged_s >= 2.0:
                return WITHHOLD
            rises = state is S.FLOWING and seen.entering and not seen.locked
            return PASS if coil or rises else WITHHOLD if coil is None else SAFE
        case "XV-101" | "XV-102":
            rises = state in {S.OPENING, S.FILLING, S.TESTING} and not seen.locked and seen.shut["XV-103"] is True
            opening = {S.OPENING, S.FILLING, S.TESTING, S.FLOWING, S.UNLOADING, S.COOLDOWN, S.ISOLATING}
            if rises or (coil and state in opening):
                return PASS
            return WITHHOLD if coil is None and state in {S.FLOWING, S.UNLOADING, S.COOLDOWN} else SAFE
        case "XV-103":
            shut = seen.shut["XV-101"] is True and seen.shut["XV-102"] is True
            return PASS if state is S.DRAINING and shut else SAFE
        case _:
            return PASS if state in {S.DRAINING, S.FILLING} else SAFE


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("tag", TAGS[:-1])
def test_a_contact_is_energised_only_as_the_whitelist_says(tag: str, state: State) -> None:
    for coil, seen in evidence():
        assert admit(tag, 1.0, state, seen) is may_be_energised(tag, state, coil, seen), (coil, seen)


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("tag", TAGS)
def test_switching_off_always_passes_but_in_startup(tag: str, state: State) -> None:
    wanted = WITHHOLD if state is S.STARTUP else PASS
    assert {admit(tag, 0.0, state, seen) for _coil, seen in evidence()} == {wanted}


@pytest.mark.parametrize("state", State)
def test_the_throttle_goes_as_far_as_its_state_lets_it(state: State) -> None:
    top = dict.fromkeys((S.OPENING, S.FLOWING, S.UNLOADING, S.COOLDOWN), 100.0) | {S.FILLING: 12.0}
    for pct in (-INF, -1.0, -1e-9, 0.0, 1e-9, 5.0, 12.0, 12.1, 60.0, 100.0, 100.1, INF, NAN):
        wanted = PASS if 0.0 <= pct <= top.get(state, 0.0) else SAFE
        if state is S.STARTUP:
            wanted = WITHHOLD
        assert admit("FCV-101", pct, state, SERVICE) is wanted, pct


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("tag", ["XV-105", "XV-201", "P-201A", "xs-101", "", "XS-101 ", "FCV-102", "XY-101"])
def test_no_other_tag_is_ever_written(tag: str, state: State) -> None:
    for value in (0.0, 1.0, 50.0):
        assert admit(tag, value, state, SERVICE) is WITHHOLD


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("tag", TAGS[:-1])
def test_no_contact_takes_a_value_between(tag: str, state: State) -> None:
    for value in (-1.0, 0.5, 1.0000001, 2.0, 100.0, NAN, INF):
        assert admit(tag, value, state, replace(SERVICE, entering=True)) is WITHHOLD


SERVE = Outputs(xs_101=True, xv_101=True, xv_102=True, xv_103=False, xv_104=False, fcv_101_pct=60.0)
SERVE_WRITES = {"XS-101": 1.0, "XV-101": 1.0, "XV-102": 1.0, "XV-103": 0.0, "XV-104": 0.0, "FCV-101": 60.0}


def seeing(coils: Mapping[str, bool | None], **changes: object) -> Evidence:
    return replace(SERVICE, coil={**HELD, **coils}, **changes)  # type: ignore[arg-type]


def test_a_rack_in_service_is_rewritten_whole() -> None:
    assert pass_through(SERVE, S.FLOWING, SERVICE) == (SERVE_WRITES, {})


def test_the_demand_is_told_by_output_tag() -> None:
    assert dict(SERVE.items()) == {**SERVE_WRITES, "XK-101": None}
    assert dict(NO_WRITE.items()) == dict.fromkeys((*TAGS, "XK-101"))


def test_no_demand_writes_nothing_in_any_state() -> None:
    for state in State:
        assert pass_through(NO_WRITE, state, SERVICE) == ({}, {})


def test_one_valve_that_cannot_be_read_back_withholds_the_whole_valve_block_and_not_the_permit() -> None:
    for state in (S.FLOWING, S.UNLOADING):
        writes, stopped = pass_through(SERVE, state, seeing({"XV-102": None}))
        assert writes == {"XS-101": 1.0}
        assert stopped == {"XV-102": WITHHOLD}


def test_a_permit_that_cannot_be_read_back_is_not_written_and_the_valves_are() -> None:
    writes, stopped = pass_through(SERVE, S.FLOWING, seeing({"XS-101": None}))
    assert writes == {tag: value for tag, value in SERVE_WRITES.items() if tag != "XS-101"}
    assert stopped == {"XS-101": WITHHOLD}


def test_a_valve_read_back_off_in_service_is_written_off_and_not_raised() -> None:
    writes, stopped = pass_through(SERVE, S.FLOWING, seeing({"XV-101": False}))
    assert writes == {**SERVE_WRITES, "XV-101": 0.0}
    assert stopped == {"XV-101": SAFE}


def test_a_permit_read_back_off_in_service_is_written_off_and_not_raised() -> None:
    writes, stopped = pass_through(SERVE, S.FLOWING, seeing({"XS-101": False}))
    assert writes == {**SERVE_WRITES, "XS-101": 0.0}
    assert stopped == {"XS-101": SAFE}


def test_nothing_passes_in_startup_even_when_something_is_demanded() -> None:
    writes, stopped = pass_through(SERVE, S.STARTUP, SERVICE)
    assert writes == {}
    assert stopped == dict.fromkeys(TAGS, WITHHOLD)


@pytest.mark.parametrize("state", sorted(set(State) - {S.STARTUP}))
def test_a_closing_demand_waits_for_no_read_back(state: State) -> None:
    nothing = Evidence({}, {}, False, None, True)
    closing = Outputs(False, False, False, False, False, 0.0)
    assert pass_through(closing, state, nothing) == (dict.fromkeys(TAGS, 0.0), {})
    half = Outputs(False, False, True, False, False, 0.0)  # ISOLATING.supply: the return valve is still held
    if state is S.ISOLATING:
        assert pass_through(half, state, nothing) == (dict.fromkeys(TAGS, 0.0), {"XV-102": SAFE})


def test_drain_and_isolation_valves_demanded_together_never_open_together() -> None:
    everything = Outputs(True, True, True, True, True, 100.0)
    for state, (_coil, seen) in product(State, evidence()):
        writes, _stopped = pass_through(everything, state, seen)
        assert not (writes.get("XV-103") and (writes.get("XV-101") or writes.get("XV-102")))
        assert not (writes.get("XV-103") and writes.get("XS-101"))
        if state not in {S.FLOWING, S.UNLOADING}:
            assert not writes.get("XS-101")


# --- the partial stroke ------------------------------------------------------------------------------------------------

OPEN = Evidence(HELD, {"XV-101": False, "XV-102": False, "XV-103": True}, False, 0.1, False)


@pytest.mark.parametrize("state", State)
def test_a_stroke_is_commanded_only_in_service_with_both_valves_held_open_and_nothing_locked(state: State) -> None:
    for xy_101, xy_102, zsc_101, zsc_102, locked in product(BITS, BITS, BITS, BITS, (True, False)):
        coils, shut = (
            {**HELD, "XV-101": xy_101, "XV-102": xy_102},
            {"XV-101": zsc_101, "XV-102": zsc_102, "XV-103": True},
        )
        seen = Evidence(coils, shut, False, 0.1, locked)
        fits = state is S.FLOWING and xy_101 and xy_102 and zsc_101 is False and zsc_102 is False and not locked
        for value in (1.0, 2.0):
            assert admit("XK-101", value, state, seen) is (PASS if fits else WITHHOLD)


@pytest.mark.parametrize("value", [0.0, 0.5, 3.0, -1.0, NAN, INF])
def test_a_stroke_of_no_valve_never_passes(value: float) -> None:
    assert admit("XK-101", value, S.FLOWING, OPEN) is WITHHOLD


def test_a_stroke_that_may_not_be_is_left_out_and_the_rest_is_written() -> None:
    demand = replace(SERVE, xk_101=1.0)
    assert pass_through(demand, S.FLOWING, OPEN) == ({**SERVE_WRITES, "XK-101": 1.0}, {})
    locked = replace(OPEN, locked=True)
    assert pass_through(demand, S.FLOWING, locked) == (SERVE_WRITES, {"XK-101": WITHHOLD})
    # where the valves are withheld, so is what would move one of them
    blind = replace(OPEN, coil={**HELD, "XV-102": None})
    assert pass_through(demand, S.FLOWING, blind) == ({"XS-101": 1.0}, {"XV-102": WITHHOLD, "XK-101": WITHHOLD})


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("tag", ["XV-101", "XV-102"])
def test_only_the_valve_that_is_stroked_keeps_its_command_while_its_coil_is_off(tag: str, state: State) -> None:
    stroked = replace(OPEN, coil=dict.fromkeys(TAGS, False), stroking=tag)
    for other in ("XV-101", "XV-102"):
        without = admit(other, 1.0, state, replace(stroked, stroking=None))
        held = other == tag and state in {S.FLOWING, S.UNLOADING, S.COOLDOWN}
        assert admit(other, 1.0, state, stroked) is (PASS if held else without)
        assert admit(other, 0.0, state, stroked) is (WITHHOLD if state is S.STARTUP else PASS)
    lost = replace(OPEN, coil=dict.fromkeys(TAGS), stroking=tag)
    assert admit(tag, 1.0, S.FLOWING, lost) is WITHHOLD


def test_no_drain_vent_or_permit_gains_by_a_stroke() -> None:
    for tag, state in product(("XS-101", "XV-103", "XV-104", "FCV-101"), State):
        for stroking in ("XV-101", "XV-102"):
            assert admit(tag, 1.0, state, replace(OPEN, stroking=stroking)) is admit(tag, 1.0, state, OPEN)

"""The lifecycle on paper: the one way into production, every way out of it, and a run that goes on where it was."""

from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fieldkit import chart
from fieldkit.alarm import Priority
from fieldkit.request import Request
from fieldkit.units import Unit
from firmware_sim.parts.orv3_mailbox import Mailbox as Device
from firmware_sim.parts.orv3_mailbox import MailboxTimes, build_image
from firmware_sim.parts.registers import Answer
from racky.core.asking import AGAIN
from racky.core.facts import FactKind
from racky.core.firmware import Order, Reply
from racky.core.gates import Gate
from racky.core.inventory import Release
from racky.core.life import RunStatus
from racky.core.lifecycle import KNOWN, _enter, advance
from racky.core.lifecycle_chart import CHART, PROVING, STAGES, STEPS, Event, Guard, State, Step, after
from racky.core.lifecycle_steps import ROWS
from racky.core.memory import Phase
from racky.core.plan import Diagnostic
from racky.core.step import step
from racky.core.view import View
from tests.racky.core.paper_life import BOOT, PaperLife, powered
from tests.racky.core.plans import BOX, GATES, IMAGE, NAMES, PAPER, RELEASE, identities, identity, on_paper

S = State


@cache
def _at(place: State | Step) -> PaperLife:
    return PaperLife().at(place)


def at(place: State | Step) -> PaperLife:
    """A rack on its way, as far as ``place``."""
    return _at(place).copy()


def ended(rack: PaperLife) -> PaperLife:
    return rack.until(S.PRODUCTION, S.QUARANTINED)


def refused(rack: PaperLife, *gates: str) -> PaperLife:
    """The rack is refused by exactly these gates, is dark, and the report says it."""
    ended(rack)
    assert (rack.life, rack.refused) == (S.QUARANTINED, set(gates)), (rack.place, rack.refused, rack.remark)
    entered = rack.told("entered")[-1]
    assert [one["gate"] for one in entered.fields["report"] if not one["ok"]] == [
        one.gate for one in rack.memory.life.report if not one.ok
    ]
    assert not powered(rack)
    rack.run(15.0)
    assert rack.memory.power.phase is Phase.OFF
    assert rack.wanted == ()
    return rack


# --- the chart -------------------------------------------------------------------------------------------------------


def test_the_chart_is_sound() -> None:
    assert chart.twins(CHART) == ()
    assert chart.hidden(CHART) == ()
    assert chart.unreachable(CHART, State, S.DISCOVERED) == ()
    assert chart.dead_ends(CHART, State) == ()
    assert chart.unknown_states(CHART, State) == ()
    assert {row.event for row in CHART} == set(Event)
    assert {row.guard for row in CHART} - {None} == set(Guard)
    assert set(ROWS) == {(state, step) for state, steps in STEPS.items() for step in steps}


def test_production_is_entered_from_validation_that_passed_and_from_a_maintenance_that_changed_nothing() -> None:
    ways = {
        (row.source, row.event, row.guard)
        for row in CHART
        if row.dest is S.PRODUCTION and row.source is not S.PRODUCTION
    }
    assert ways == {(S.VALIDATION, Event.PASSED, None), (S.MAINTENANCE, Event.RELEASED, Guard.UNCHANGED)}


def test_every_state_that_proves_can_be_refused_tripped_and_taken_out() -> None:
    for state in PROVING:
        assert after(state, Event.REFUSED) is S.QUARANTINED
        assert after(state, Event.TRIPPED) is S.QUARANTINED
        assert after(state, Event.QUARANTINE) is S.QUARANTINED
        assert after(state, Event.MAINTAINED) is S.MAINTENANCE
    assert after(S.RETIRED, Event.ADMIT) is None


# --- the whole way ---------------------------------------------------------------------------------------------------


def test_a_good_rack_goes_the_whole_way_and_leaves_a_report() -> None:
    rack = at(S.PRODUCTION)
    moves = [(fact.fields["from"], fact.fields["to"]) for fact in rack.told("entered")]
    states = [S.DISCOVERED, S.IDENTIFIED, *PROVING, S.PRODUCTION]
    assert moves == list(pairwise(states))
    assert rack.asked == ["fill", "open", "set_point", "set_point", "set_point"]
    assert rack.points[2:] == [{"fcv_pct": 100.0}, {"flow_lpm": 197.0}, {"auto": True}]
    assert list(rack.report) == [gate.id for gate in GATES]
    assert all(one.ok and one.measured is not None for one in rack.report.values())
    assert [one.stage for one in rack.memory.life.report] == [gate.stage for gate in GATES]
    assert rack.told("entered")[-1].fields["report"] == [one.plain() for one in rack.memory.life.report]
    assert [fact.fields["passed"] for fact in rack.told("judged")] == [True] * len(STAGES)
    assert powered(rack)
    assert rack.memory.life.admitted == tuple(identities().values())
    assert rack.wanted == ()  # nothing burns any more
    before = rack.memory.life
    assert rack.run(30.0).memory.life == before


def test_nothing_is_asked_before_a_person_asks() -> None:
    rack = PaperLife().run(100.0)
    assert (rack.place, rack.asked) == ((S.IDENTIFIED, Step.WAIT), [])
    assert not powered(rack)


def test_a_rack_without_a_plan_is_left_alone() -> None:
    rack = PaperLife()
    view = View(rack.sight(), rack.memory, replace(rack.setup, plan=None))
    lived = advance(view)
    assert (lived.view, lived.asks, lived.facts, lived.wanted.orders, lived.wanted.runs) == (view, (), (), (), ())
    rack.setup = replace(rack.setup, plan=None)
    assert rack.ask("admit").fields["code"] == "lifecycle"


def test_a_disarmed_racky_admits_nothing_and_a_run_under_way_rests() -> None:
    rack = PaperLife(armed=False).until(S.IDENTIFIED)
    assert rack.ask("admit").fields["code"] == "armed"
    rack = at(Step.FILL)
    rack.setup = on_paper(armed=False)
    asked = len(rack.asked)
    rack.run(400.0)
    assert (rack.place, len(rack.asked)) == ((S.COOLING, Step.FILL), asked)
    assert rack.remark == "Racky is disarmed: it asks and writes nothing"


def test_the_step_hands_on_what_the_lifecycle_asks_and_wants() -> None:
    """Racky's whole step, not the lifecycle alone."""
    rack, _ = behind(NAMES[0])
    memory, asks, orders, percents = rack.memory, list[str](), list[str](), list[float]()
    for second in range(1, 60):
        rack.now_s = 1000.0 + second
        life = memory.life
        wanted = life.state is S.IDENTIFIED
        asked = Request("p-1", "admit", "engineer", "desk", {}, "anna", "new", memory.state_seq)
        scan = step(memory, rack.sight(), (asked,) if wanted else (), rack.setup, rack.now_s)
        memory = scan.memory
        asks += [one.request for one in scan.asks]
        orders += [one.device for one in scan.wanted.orders]
        percents += [] if scan.progress is None else [scan.progress.percent]
        if orders:
            rack.found = identities()
            memory = replace(memory, life=replace(memory.life, update=None))
    assert set(orders) == {NAMES[0]}
    assert "fill" in asks
    assert 0.0 <= percents[0] < percents[-1] < 50.0


# --- every gate ------------------------------------------------------------------------------------------------------


def _impossible(gate: Gate) -> Gate:
    return replace(gate, low=1e9, high=None)


@pytest.mark.parametrize("gate", GATES, ids=lambda gate: gate.id)
def test_production_needs_each_gate(gate: Gate) -> None:
    """With one gate that nothing can pass the rack is refused by it, and stays where it was."""
    gates = tuple(_impossible(one) if one.id == gate.id else one for one in GATES)
    before = {S.DISCOVERED: S.DISCOVERED, S.FIRMWARE: S.IDENTIFIED}.get(gate.stage, gate.stage)
    if before is S.DISCOVERED:
        rack = PaperLife(plan=replace(PAPER, gates=gates)).until(S.QUARANTINED)
        assert rack.refused == {gate.id}
        return
    rack = PaperLife().until(S.IDENTIFIED) if before is S.IDENTIFIED else at(before)
    rack.plan, rack.setup = replace(PAPER, gates=gates), on_paper(replace(PAPER, gates=gates))
    if before is S.IDENTIFIED:
        rack.admit()
    refused(rack, gate.id)
    assert rack.memory.life.refused_at is gate.stage


@settings(max_examples=10, deadline=None)
@given(st.sets(st.sampled_from([gate.id for gate in GATES if gate.stage is S.VALIDATION]), min_size=1))
def test_any_set_of_failed_gates_is_told_whole(names: set[str]) -> None:
    gates = tuple(_impossible(one) if one.id in names else one for one in GATES)
    rack = at(Step.DIAGNOSE)
    rack.setup = on_paper(replace(PAPER, gates=gates))
    ended(rack)
    assert (rack.life, rack.refused) == (S.QUARANTINED, names)


def test_a_gate_that_was_added_meanwhile_is_not_passed() -> None:
    """The file was changed between two stages: what was never shown has not passed."""
    rack = at(Step.DIAGNOSE)
    new = Gate("new", S.COOLING, "flow_wide_lpm", Unit.L_MIN, 0.0, None, "flows", "look")
    rack.setup = on_paper(replace(PAPER, gates=(*GATES, new)))
    ended(rack)
    assert (rack.life, rack.refused, rack.memory.life.refused_at) == (S.QUARANTINED, set(), S.COOLING)
    assert rack.told("judged")[-1].fields["lacking"] == ["new"]
    rack.ask("admit")
    assert rack.life is S.COOLING
    assert ended(rack).life is S.PRODUCTION


def test_every_measure_that_a_gate_may_name_can_be_named() -> None:
    assert {gate.measure for gate in GATES} <= set(KNOWN)
    unknown = replace(GATES[0], measure="luck")
    rack = PaperLife(plan=replace(PAPER, gates=(unknown, *GATES[1:]))).until(S.QUARANTINED)
    assert rack.report["devices"].measured is None


# --- DISCOVERED ------------------------------------------------------------------------------------------------------


def test_a_device_that_is_not_there_yet_is_waited_for() -> None:
    rack = PaperLife(found={name: one for name, one in identities().items() if name != NAMES[1]}).run(500.0)
    assert (rack.life, rack.remark) == (S.DISCOVERED, "waits for shelf_112")
    answer = rack.ask("admit")
    assert (answer.fields["code"], answer.fields["reason"]) == (
        "state",
        "'admit' does not apply in DISCOVERED: waits for shelf_112",
    )
    assert answer.fields["allow"] == "states: IDENTIFIED, FIRMWARE, COOLING, POWER, VALIDATION, QUARANTINED"
    rack.found = identities()
    assert rack.run(2.0).life is S.IDENTIFIED


def test_a_wrong_device_is_waited_out_then_refused_with_what_was_found() -> None:
    rack = PaperLife(found=identities() | {"shelf_112": replace(identity("shelf_112"), model="other")})
    rack.memory = replace(rack.memory, life=replace(rack.memory.life, step_s=rack.now_s))
    rack.run(15.0)
    assert (rack.life, rack.remark) == (S.DISCOVERED, "shelf_112: model (expected racky-pwr-shelf, found other)")
    rack.until(S.QUARANTINED, most_s=10.0)
    assert rack.report["devices"].detail == "shelf_112: model (expected racky-pwr-shelf, found other)"
    rack.found = identities()
    assert rack.ask("admit").fields["status"] == "accepted"
    assert rack.told("entered")[-2].fields["to"] is S.DISCOVERED
    assert rack.life is S.IDENTIFIED


def test_an_identified_rack_whose_device_is_changed_is_discovered_anew() -> None:
    rack = PaperLife().until(S.IDENTIFIED)
    rack.found = {name: one for name, one in identities().items() if name != NAMES[1]}
    assert rack.run(5.0).life is S.IDENTIFIED  # unread is no change
    rack.found = identities() | {"shelf_115": identity("shelf_115")}
    rack.step()
    assert rack.life is S.DISCOVERED
    assert rack.told("entered")[-1].fields["why"] == "shelf_115: stranger (expected nothing, found racky-pwr-shelf)"


# --- FIRMWARE --------------------------------------------------------------------------------------------------------


class Wired:
    """The simulator's mailbox behind an order."""

    def __init__(self, revision: str = "1.0.0") -> None:
        self.device = Device(build_image(revision, b"old"), times=MailboxTimes(erase_s=3.0, check_s=1.0, restart_s=3.0))
        self.device.step(900.0)
        self.orders: list[float] = []

    def __call__(self, order: Order, now_s: float) -> Reply:
        self.device.step(now_s)
        self.orders.append(now_s)
        if not self.device.answers:
            return Reply(order.id, ok=False, error="timeout")
        if order.words:
            said = self.device.write(order.address, order.words, now_s)
            return Reply(order.id, said is Answer.OK, error=said.name)
        if order.address == BOX.revision_address:
            text = (self.device.running or "").ljust(8).encode()
            return Reply(order.id, True, tuple(int.from_bytes(text[n : n + 2], "big") for n in range(0, 8, 2)))
        return Reply(order.id, True, self.device.read(order.address, order.count))


def behind(*names: str) -> tuple[PaperLife, dict[str, Wired]]:
    wired = {name: Wired() for name in names}
    rack = PaperLife(found=identities() | {name: identity(name, "1.0.0") for name in names}, devices=dict(wired))
    return rack, wired


def test_devices_behind_are_updated_one_after_the_other_before_anything_is_filled() -> None:
    rack, wired = behind(NAMES[0], NAMES[2])
    rack.at(S.COOLING)
    assert [one.device.running for one in wired.values()] == ["1.1.0", "1.1.0"]
    first, second = wired[NAMES[0]].orders, wired[NAMES[2]].orders
    assert max(first) < min(second)
    assert rack.asked == []
    assert rack.memory.life.updated == {NAMES[0]: "1.1.0", NAMES[2]: "1.1.0"}
    assert rack.report["firmware"].ok
    assert ended(rack).life is S.PRODUCTION
    rack.found = identities()  # at last they are read again
    assert rack.run(5.0).life is S.PRODUCTION


def test_the_update_tells_how_far_it_is() -> None:
    rack, _ = behind(NAMES[0])
    rack.admit()
    seen = []
    while rack.life is S.FIRMWARE:
        seen.append(rack.remark)
        rack.step()
    assert f"{NAMES[0]}: begins" in seen
    assert any(remark.startswith(f"{NAMES[0]}: accept, 2") for remark in seen)


def test_a_device_that_cannot_be_read_after_its_update_is_believed_by_what_it_said_then() -> None:
    rack, _ = behind(NAMES[0])
    rack.at(S.COOLING)
    del rack.found[NAMES[0]]
    assert ended(rack).life is S.PRODUCTION
    assert NAMES[0] not in {one.device for one in rack.memory.life.admitted}


def test_firmware_is_updated_only_while_the_power_is_off() -> None:
    rack = at(S.PRODUCTION)
    wired = Wired()
    rack.devices = {NAMES[0]: wired}
    rack.found = identities() | {NAMES[0]: identity(NAMES[0], "1.0.0")}
    rack.step()
    assert rack.life is S.IDENTIFIED  # another firmware than it was admitted with
    rack.until(S.IDENTIFIED).admit()
    assert (powered(rack), rack.memory.power.phase) == (False, Phase.FALLING)
    while rack.memory.power.phase is not Phase.OFF:
        assert wired.orders == []
        assert rack.remark == "waits for the power to be off"
        rack.step()
    assert ended(rack).life is S.PRODUCTION
    assert wired.device.running == "1.1.0"


@pytest.mark.parametrize(
    ("release", "says"),
    [
        (Release("racky-pwr-shelf", "1.1.0"), "shelf_111 (racky-pwr-shelf): runs 1.0.0, the manifest wants 1.1.0; nothing here can bring it"),
        (replace(RELEASE, image="lost"), "shelf_111 (racky-pwr-shelf): runs 1.0.0, the manifest wants 1.1.0; nothing here can bring it"),
        (replace(RELEASE, mailbox=replace(BOX, two_slots=False)), "shelf_111 (racky-pwr-shelf): runs 1.0.0, the manifest wants 1.1.0; a device with one slot is updated by hand"),
    ],
)  # fmt: skip
def test_what_cannot_be_updated_here_refuses_the_rack_and_is_not_touched(release: Release, says: str) -> None:
    rack, wired = behind(NAMES[0])
    rack.setup = on_paper(replace(PAPER, manifest=(release,)))
    refused(rack.admit(), "work", "firmware")
    assert rack.report["work"].detail == says
    assert wired[NAMES[0]].orders == []


def test_a_model_without_a_release_refuses_the_rack() -> None:
    rack = PaperLife(plan=replace(PAPER, manifest=(replace(RELEASE, model="other"),)))
    refused(rack.admit(), "work", "firmware")
    assert "the manifest wants no release of its model" in rack.report["work"].detail


def test_an_update_that_fails_stops_the_others_and_a_later_run_looks_again() -> None:
    rack, wired = behind(NAMES[0], NAMES[1])
    wired[NAMES[0]].device.power_off()
    refused(rack.admit(), "work", "firmware")
    assert rack.report["work"].detail == "shelf_111: it does not answer"
    assert wired[NAMES[1]].orders == []
    wired[NAMES[0]].device.power_on(rack.now_s)
    rack.ask("admit")
    assert rack.life is S.FIRMWARE
    assert ended(rack).life is S.PRODUCTION


def test_an_image_that_is_taken_away_during_an_update_refuses_the_rack() -> None:
    rack, _ = behind(NAMES[0])
    rack.admit().run(5.0)
    rack.setup = on_paper(replace(PAPER, images={}))
    refused(rack, "work", "firmware")
    assert rack.report["work"].detail == "shelf_111: no image brings 1.1.0 any more"


def _orders_of_an_update() -> int:
    rack, wired = behind(NAMES[0])
    rack.at(S.COOLING)
    return len(wired[NAMES[0]].orders)


@pytest.mark.parametrize("n", range(1, _orders_of_an_update() + 1))
def test_an_update_cut_by_power_loss_at_each_step_is_resumed(n: int) -> None:
    """Device and Racky at once: one power feeds both."""
    rack, wired = behind(NAMES[0])
    device = wired[NAMES[0]].device
    rack.admit()
    while len(wired[NAMES[0]].orders) < n:
        rack.step()
    device.power_off()
    rack.restart(away_s=20.0)
    device.power_on(rack.now_s)
    device.step(rack.now_s + 3.0)
    assert device.running in {"1.0.0", "1.1.0"}
    assert ended(rack).life is S.PRODUCTION, rack.report
    assert device.running == "1.1.0"


# --- COOLING ---------------------------------------------------------------------------------------------------------


def test_a_full_rack_is_tested_and_a_tested_one_is_opened_at_once() -> None:
    rack = PaperLife(state="ISOLATED", inventory="full").at(S.POWER)
    assert rack.asked[0] == "test"
    rack = PaperLife(state="ISOLATED", inventory="full", tested=True).at(S.POWER)
    assert rack.asked[0] == "open"
    rack = PaperLife(state="FLOWING", inventory="full", tested=True).at(S.POWER)
    assert rack.asked[0] == "set_point"


def test_a_refused_request_is_asked_again_until_its_time_is_over() -> None:
    rack = PaperLife(refuses="no lease")
    rack.admit().run(100.0)
    assert (rack.place, rack.remark) == ((S.COOLING, Step.FILL), "Valvey: no lease (patience)")
    assert 14 <= len(rack.asked) <= 20
    refused(
        rack,
        "work",
        "tightness",
        "control-valve",
        "inlet",
        "rack-conductance",
        "meters-cold",
        "nominal-flow",
        "valve-reserve",
    )
    assert rack.report["work"].detail == "'fill' took longer than 200 s: Valvey: no lease (patience)"
    assert rack.report["inlet"].detail == "not reached"


def test_work_that_valvey_gives_up_refuses_the_rack_with_its_words() -> None:
    rack = PaperLife(gives_up="the rack does not hold its pressure")
    ended(rack.admit())
    assert (rack.life, rack.report["work"].detail) == (S.QUARANTINED, "the rack does not hold its pressure")
    assert rack.report["tightness"].detail == "inventory empty, tested False"
    rack.gives_up = None
    rack.ask("admit")
    assert rack.place == (S.COOLING, Step.FILL)
    assert ended(rack).life is S.PRODUCTION
    assert rack.memory.life.run == 2


def test_a_fill_whose_test_fails_is_no_reason_to_test_once_more() -> None:
    """The rack is full by then: what was asked for has failed all the same."""
    rack = PaperLife(gives_up="XV-102 did not make its full stroke in time")
    rack.admit().run(3.0)
    rack.inventory, rack.state = "full", "TESTING"
    ended(rack)
    assert (rack.asked, rack.report["work"].detail) == (["fill"], "XV-102 did not make its full stroke in time")
    rack.gives_up = None
    ended(rack.admit())
    assert (rack.asked[:2], rack.life) == (["fill", "test"], S.PRODUCTION)


def test_an_opening_that_fails_refuses_the_rack() -> None:
    rack = at(Step.OPEN)
    rack.gives_up = "late"
    ended(rack)
    assert rack.report["work"].detail == "late"
    assert rack.report["tightness"].ok


def test_a_valvey_that_is_not_heard_is_asked_nothing() -> None:
    rack = PaperLife(heard=False)
    rack.admit().run(100.0)
    assert (rack.place, rack.asked, rack.remark) == ((S.COOLING, Step.FILL), [], "Valvey is not heard")


def test_a_valve_that_does_not_reach_its_end_is_judged_where_it_stands() -> None:
    rack = at(Step.OPEN)
    rack.wide = {"ZT-101": 90.0}
    refused(rack, "control-valve", "inlet")
    assert rack.report["control-valve"].measured == 90.0


def test_a_flow_that_does_not_reach_nominal_is_judged_where_it_stands() -> None:
    rack = at(Step.NOMINAL)
    rack.values = {"FT-101": 150.0, "FT-102": 150.0}
    ended(rack)
    assert "nominal-flow" in rack.refused
    assert rack.report["nominal-flow"].measured == pytest.approx(100.0 * 150.0 / 197.0)


def test_a_refused_rack_gets_its_flow_control_back() -> None:
    rack = at(Step.WATCH_WIDE)
    rack.ask("quarantine")
    assert rack.life is S.QUARANTINED
    assert rack.run(5.0).points[-1] == {"auto": True}
    assert rack.memory.life.set_point == ""
    count = len(rack.asked)
    assert len(rack.run(30.0).asked) == count


def test_a_rack_that_is_shut_meanwhile_is_not_asked_for_a_set_point() -> None:
    rack = at(Step.WATCH_WIDE)
    rack.state = "ISOLATED"
    rack.ask("quarantine")
    assert {"auto": True} not in rack.run(5.0).points


# --- POWER, VALIDATION -----------------------------------------------------------------------------------------------


def test_what_forbids_power_is_told_and_waited_for() -> None:
    rack = at(S.POWER)
    rack.values["XI-101"] = 0.0
    rack.run(20.0)
    assert (rack.place, powered(rack)) == ((S.POWER, Step.ON), False)
    assert rack.remark == "the power permit (XI-101) is not proven on (Valvey in FLOWING, XI-101 good and on)"
    rack.values.clear()
    assert ended(rack).life is S.PRODUCTION


def test_shelves_that_do_not_come_refuse_the_rack() -> None:
    rack = at(S.POWER)
    rack.obeys = False
    refused(rack, "work", "power-on")
    assert rack.report["power-on"].measured == 0.0
    rack = PaperLife(plan=replace(PAPER, gates=GATES))
    rack.setup = replace(on_paper(), shelves=())
    ended(rack.admit())
    assert (rack.report["power-on"].measured, rack.report["power-on"].detail) == (None, "not reached")


def test_a_shelf_that_is_off_while_others_are_on_is_switched_on_again() -> None:
    rack = at(S.POWER)
    rack.until(S.VALIDATION)
    rack.memory = replace(rack.memory, life=replace(rack.memory.life, state=S.POWER, step=Step.ON, step_s=rack.now_s))
    rack.on["XS-112"] = False
    rack.step()
    assert (rack.life, rack.memory.power.phase) == (S.POWER, Phase.RISING)
    assert ended(rack).life is S.PRODUCTION


def test_a_load_that_does_not_come_refuses_the_rack() -> None:
    rack = at(S.VALIDATION)
    rack.load_kw = 20.0
    ended(rack)
    assert rack.report["work"].detail == "'load' took longer than 40 s: 20 of 132 kW"
    rack = at(S.VALIDATION)
    rack.values["ET-101"] = None
    rack.run(10.0)
    assert rack.remark == "ET-101 cannot be believed"


@pytest.mark.parametrize("step", [Step.LOAD, Step.SETTLE, Step.WATCH, Step.DIAGNOSE])
def test_a_load_command_that_ends_too_soon_refuses_the_rack(step: Step) -> None:
    rack = at(step)
    rack.outcomes["burn-in"] = RunStatus.FAILED
    ended(rack)
    assert rack.life is S.QUARANTINED
    assert rack.report["work"].detail == "burn-in ended under load: failed its last line"


@pytest.mark.parametrize("outcome", [RunStatus.FAILED, RunStatus.TIMEOUT])
def test_each_diagnostic_must_pass_and_the_others_still_run(outcome: RunStatus) -> None:
    rack = at(Step.DIAGNOSE)
    rack.outcomes["dcgm"] = outcome
    refused(rack, "diagnostics")
    assert rack.report["diagnostics"].detail == "dcgm: its last line"
    assert dict(rack.memory.life.diagnosed) == {"dcgm": (False, "its last line"), "links": (True, "its last line")}


def test_a_diagnostic_that_never_ends_is_given_up_in_its_time() -> None:
    rack = at(Step.DIAGNOSE)
    rack.outcomes["dcgm"] = RunStatus.RUNNING
    rack.run(68.0)
    assert (rack.place, rack.remark) == ((S.VALIDATION, Step.DIAGNOSE), "dcgm runs")
    refused(rack, "diagnostics")
    assert rack.report["diagnostics"].detail == "dcgm: did not end within 60 s"


def test_a_stage_without_its_diagnostics_done_has_not_passed() -> None:
    rack = at(Step.DIAGNOSE)
    more = replace(
        PAPER,
        times=replace(PAPER.times, diagnose_most=5.0),
        diagnostics=(*PAPER.diagnostics, Diagnostic("slow", 600.0)),
    )
    rack.setup = on_paper(more)
    rack.outcomes["slow"] = RunStatus.RUNNING
    ended(rack)
    assert rack.report["diagnostics"].detail == "slow: not done"
    assert rack.report["work"].detail == "'diagnose' took longer than 5 s: slow runs"


def test_an_alarm_a_latch_and_a_lost_link_under_load_are_evidence() -> None:
    rack = at(Step.WATCH)
    rack.alarms = {"heat-balance": Priority.MEDIUM, "chatter": Priority.LOW}
    rack.run(5.0)
    rack.alarms = {}
    refused(rack, "no-alarm")
    assert rack.report["no-alarm"].measured == 1.0
    rack = at(Step.WATCH)
    rack.own["ST-112C"] = None
    ended(rack)
    assert "fans" in rack.refused
    rack = at(Step.WATCH)
    rack.heard = False
    rack.run(20.0)
    rack.heard = True
    ended(rack)
    assert {"no-alarm", "heat-balance", "readings"} <= rack.refused


# --- trips, maintenance, changes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", [Step.FILL, Step.WATCH_WIDE, S.POWER, Step.LOAD, Step.WATCH])
def test_a_trip_while_the_rack_is_proven_refuses_it(place: State | Step) -> None:
    rack = at(place)
    stage = rack.life
    rack.latches = ("SIF-1",)
    rack.step()
    assert rack.life is S.QUARANTINED
    assert rack.memory.life.refused_at is stage
    assert (rack.report["no-trip"].detail, rack.report["no-trip"].ok) == ("latched: SIF-1", False)
    assert not powered(rack)
    rack.latches, rack.state = (), "ISOLATED"
    assert ended(rack.admit()).life is S.PRODUCTION
    assert "no-trip" not in rack.report


def test_a_rack_that_is_latched_is_not_filled_and_its_reset_opens_nothing() -> None:
    """A latch of before, or one that comes while firmware is updated: a person asks anew after the reset."""
    rack = PaperLife(latches=("MEM", "SIF-6"))
    refused(rack.admit(), "no-trip")
    assert rack.report["no-trip"].detail == "latched: MEM, SIF-6"
    assert rack.asked == []
    rack, _ = behind(NAMES[0])
    rack.admit()
    rack.latches = ("SIF-1",)
    rack.step()
    assert rack.life is S.FIRMWARE  # what is begun is ended
    rack.latches = ()
    rack.until(S.COOLING).run(50.0)
    assert (rack.place, rack.asked, rack.remark) == ((S.COOLING, Step.FILL), [], AGAIN)
    assert ended(rack.admit()).life is S.PRODUCTION


def test_the_second_trip_path_refuses_the_rack() -> None:
    rack = at(Step.WATCH)
    rack.memory = replace(rack.memory, power=replace(rack.memory.power, phase=Phase.TRIPPED))
    rack.step()
    assert rack.report["no-trip"].detail == "latched: the second trip path"


def test_a_refusal_under_load_goes_on_with_the_power_while_the_coolant_flows() -> None:
    rack = at(Step.WATCH)
    rack.own["SA-112C"] = 1.0
    refused(rack, "supply-faults")
    rack.own.clear()
    asked = len(rack.asked)
    rack.ask("admit")
    assert (rack.place, len(rack.asked)) == ((S.POWER, Step.ON), asked)
    assert set(rack.report) == {gate.id for gate in GATES if gate.stage in {S.DISCOVERED, S.FIRMWARE, S.COOLING}}
    assert ended(rack).life is S.PRODUCTION
    assert len(rack.asked) == asked


def test_a_refused_rack_with_another_device_is_discovered_anew() -> None:
    rack = at(Step.WATCH)
    rack.own["SA-112C"] = 1.0
    refused(rack, "supply-faults")
    rack.found = identities() | {"shelf_112": identity("shelf_112", serial="new")}
    rack.ask("admit")
    assert rack.life is S.IDENTIFIED
    assert list(rack.report) == ["devices"]


@pytest.mark.parametrize("place", [S.IDENTIFIED, Step.FILL, Step.WATCH, S.QUARANTINED])
def test_maintenance_interrupts_and_the_rack_is_discovered_anew_after_it(place: State | Step) -> None:
    rack = (
        PaperLife().until(S.IDENTIFIED) if place is S.IDENTIFIED else at(Step.FILL if place is S.QUARANTINED else place)
    )
    if place is S.QUARANTINED:
        rack.ask("quarantine")
    asked = len(rack.asked)
    rack.maintain(60.0).step()
    assert rack.life is S.MAINTENANCE
    assert rack.wanted == ()
    rack.run(50.0)
    assert rack.life is S.MAINTENANCE
    rack.run(15.0)
    assert rack.life in {S.DISCOVERED, S.IDENTIFIED}
    assert len(rack.asked) <= asked + 1  # the flow control gets its valve back


def test_maintenance_of_an_admitted_rack_that_changes_nothing_ends_in_production() -> None:
    rack = at(S.PRODUCTION)
    rack.maintain(60.0).step()
    assert (rack.life, powered(rack)) == (S.MAINTENANCE, True)  # trips act, power stays
    assert rack.run(65.0).life is S.PRODUCTION
    assert rack.told("entered")[-1].fields["report"]


@pytest.mark.parametrize("change", ["device", "firmware", "opened", "opened and closed", "silent"])
def test_maintenance_that_changed_something_does_not(change: str) -> None:
    rack = at(S.PRODUCTION)
    rack.maintain(60.0).run(10.0)
    if change == "device":
        rack.found = identities() | {"shelf_112": identity("shelf_112", serial="new")}
    elif change == "firmware":
        rack.found = identities() | {"shelf_112": identity("shelf_112", "9")}
    elif change == "silent":
        rack.heard = False
    else:
        rack.tested = False
        rack.run(10.0)
        rack.tested = change == "opened and closed"
    rack.run(60.0)
    assert rack.life in {S.DISCOVERED, S.IDENTIFIED}


def test_a_rack_in_production_whose_device_or_coolant_changes_is_discovered_anew() -> None:
    rack = at(S.PRODUCTION)
    rack.found = {name: one for name, one in identities().items() if name != NAMES[0]}
    assert rack.run(5.0).life is S.PRODUCTION  # unread is no change
    rack.found = identities() | {"shelf_112": identity("shelf_112", serial="new")}
    rack.step()
    assert (rack.life, powered(rack)) == (S.IDENTIFIED, True)
    assert rack.told("entered")[-2].fields["why"] == "another device, or another firmware: shelf_112"
    rack = at(S.PRODUCTION)
    rack.tested = None
    assert rack.run(5.0).life is S.PRODUCTION
    rack.tested, rack.heard = False, False
    assert rack.run(5.0).life is S.PRODUCTION
    rack.heard = True
    rack.step()
    assert rack.told("entered")[-2].fields["why"] == "the coolant was opened: the rack is not tested any more"


# --- requests --------------------------------------------------------------------------------------------------------


def test_retired_needs_the_power_off_and_comes_back_by_discovery_only() -> None:
    rack = at(S.PRODUCTION)
    assert rack.ask("retire").fields["code"] == "power"
    rack.ask("power_off")
    rack.run(30.0)
    answer = rack.ask("retire")
    assert answer.fields["status"] == "accepted", answer
    assert rack.run(60.0).life is S.RETIRED
    rack.maintain(20.0).run(5.0)
    assert rack.life is S.RETIRED
    assert rack.ask("admit").fields["code"] == "state"
    rack.run(20.0).ask("discover")
    assert rack.life in {S.DISCOVERED, S.IDENTIFIED}


def test_a_quarantine_by_hand_begins_with_the_devices_again() -> None:
    rack = at(S.PRODUCTION)
    assert rack.ask("quarantine").fields["status"] == "accepted"
    assert (rack.life, powered(rack), rack.memory.life.refused_at) == (S.QUARANTINED, False, S.DISCOVERED)
    assert rack.ask("quarantine").fields["code"] == "state"
    rack.run(20.0)
    rack.ask("admit")
    assert rack.life is S.IDENTIFIED
    assert list(rack.report) == ["devices"]


def test_who_may_ask_and_with_what() -> None:
    rack = PaperLife().until(S.IDENTIFIED)
    seq = rack.memory.state_seq
    rack.ask("admit")
    entered = next(fact for fact in rack.told("entered") if fact.fields["event"] == "admit")
    assert (entered.fields["by"], entered.fields["why"], entered.fields["event"]) == ("anna", "a new rack", "admit")
    assert rack.memory.state_seq > seq
    assert (rack.memory.life.by, rack.memory.life.why, rack.memory.life.boot_id) == ("anna", "a new rack", BOOT)


def test_a_move_that_the_chart_does_not_have_is_a_bug() -> None:
    rack = PaperLife()
    with pytest.raises(LookupError, match="no row for 'passed' in RETIRED"):
        _enter(
            View(rack.sight(), replace(rack.memory, life=replace(rack.memory.life, state=S.RETIRED)), rack.setup),
            Event.PASSED,
        )


def test_looking_more_often_than_once_a_second_samples_no_more() -> None:
    rack = at(Step.WATCH)
    for _ in range(20):
        rack.step(dt_s=0.5)
    assert rack.memory.life.windows["load"].samples == 10


# --- away and back ---------------------------------------------------------------------------------------------------

STEPS_OF_A_RUN = [step for state in PROVING for step in STEPS[state]]


@pytest.mark.parametrize("step", STEPS_OF_A_RUN)
@pytest.mark.parametrize("into_s", [0.0, 4.0])
def test_a_run_goes_on_where_it_was_after_racky_was_away(step: Step, into_s: float) -> None:
    rack = PaperLife().until(S.IDENTIFIED).admit() if step is Step.UPDATE else at(step)
    rack.run(into_s)
    state = rack.life
    rack.restart()
    assert rack.life is state
    ended(rack)
    assert rack.life is S.PRODUCTION, (rack.refused, rack.report)
    assert rack.memory.life.run == 1
    assert rack.asked.count("open") <= 2  # an answer that was lost may be asked for twice; Valvey answers it twice
    assert rack.points[-1] == {"auto": True}


@pytest.mark.parametrize("step", [Step.FILL, Step.OPEN, Step.WIDE, Step.NOMINAL])
def test_after_a_new_boot_nothing_opens_until_somebody_asks_again(step: Step) -> None:
    rack = at(step)
    rack.restart("boot-2")
    asked = len(rack.asked)
    rack.run(400.0)
    assert rack.life is S.COOLING
    assert len(rack.asked) == asked
    assert rack.remark == AGAIN
    assert rack.ask("admit").fields["status"] == "accepted"
    assert rack.memory.life.boot_id == "boot-2"
    assert [fact.fields["what"] for fact in rack.facts if fact.kind is FactKind.LIFECYCLE][-1] in {
        "taken on",
        "entered",
        "judged",
    }
    assert ended(rack).life is S.PRODUCTION
    assert rack.memory.life.run == 1


def test_a_report_keeps_its_times_over_a_new_boot() -> None:
    rack = at(S.PRODUCTION)
    ages = [rack.now_s - one.at_s for one in rack.memory.life.report]
    rack.restart("boot-2", away_s=0.0)
    assert [rack.now_s - one.at_s for one in rack.memory.life.report] == pytest.approx(ages, abs=1.0)
    assert rack.run(5.0).life is S.PRODUCTION


def test_an_update_goes_on_over_a_new_boot_without_anybody() -> None:
    rack, wired = behind(NAMES[0])
    rack.admit().run(8.0)
    rack.restart("boot-2")
    device = wired[NAMES[0]].device
    device.power_off()
    device.power_on(0.0)
    rack.until(S.COOLING)
    assert device.running == "1.1.0"
    assert IMAGE in device.slots[device.active]

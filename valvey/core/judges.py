"""What each safety function looks at: one small function a row of ``trips.TRIPS``, pure, readings in, verdict out.

None of them knows hold times, latches or effects.
"""

from collections.abc import Callable, Sequence

from valvey.core.chart import PERMIT_ON, STROKED, State
from valvey.core.memory import Effect
from valvey.core.policy import PolicyRule
from valvey.core.verdict import NOT_ARMED, D, H, Judgement, U, Verdict, any_of, k_of_n
from valvey.core.view import CARRYING_FRACTION, View

Judge = Callable[[View], Judgement]

#: Leak detectors of class ``rack``, and all.
RACK_DETECTORS = ("LDT-101", "LDT-102")
DETECTORS = (*RACK_DETECTORS, "LDT-103")
#: SIF-9: the rack follows the header when it moves by half as much, once the header has moved by this.
FOLLOW_KPA = 10.0
FOLLOW_FRACTION = 0.5


def permit_on(view: View) -> bool:
    """The permit is demanded, or (before anything is demanded) the field says that it is on."""
    state = view.memory.state
    return state in PERMIT_ON or (state is State.STARTUP and view.on("XI-101") is True)


def _said(verdict: Verdict, view: View, tag: str, value: float | None, limit: float | None) -> Judgement:
    return Judgement(verdict, tag, value, limit, view.at_s(tag), blind=verdict is U)


def _above(view: View, tag: str, limit: float) -> Judgement:
    value = view.number(tag)
    return _said(U if value is None else D if value > limit else H, view, tag, value, limit)


def _contact(view: View, tag: str, danger: bool) -> Judgement:
    value = view.on(tag)
    return _said(U if value is None else D if value is danger else H, view, tag, view.number(tag), None)


def _first(judgements: Sequence[Judgement], verdict: Verdict) -> Judgement:
    """The judgement that speaks for ``verdict``, with blindness only when all are blind."""
    blind = all(judgement.blind for judgement in judgements)
    for judgement in judgements:
        if judgement.verdict is verdict:
            return judgement._replace(blind=blind)
    return judgements[0]._replace(verdict=verdict, blind=blind)


def _any(judgements: Sequence[Judgement]) -> Judgement:
    return _first(judgements, any_of([judgement.verdict for judgement in judgements]))


def leak(rule: PolicyRule) -> Judge:
    """SIF-1 by one rule of the leak policy. A faulty detector is neither wet nor dry; a bypassed one has no vote."""

    def judge(view: View) -> Judgement:
        judgements = [_detector(view, tag) for tag in voting(view, rule.detectors)]
        if not judgements:
            return NOT_ARMED
        votes = [judgement.verdict for judgement in judgements]
        wet, lost = votes.count(D), votes.count(U)
        verdict = D if wet >= rule.count else U if wet + lost >= rule.count else H
        if verdict is D and rule.second_symptom:
            verdict = _second_symptom(view, rule.detectors)
        return _first(judgements, verdict)

    return judge


def voting(view: View, tags: Sequence[str]) -> list[str]:
    """The detectors that no bypass names."""
    bypassed = {bypass.name for bypass in view.memory.bypasses}
    return [tag for tag in tags if tag not in bypassed]


def _detector(view: View, tag: str) -> Judgement:
    if tag.startswith("TRAY-"):
        wet = view.memory.evidence_s.get(tag, 0.0) > view.now_s
        return Judgement(D if wet else H, tag, float(wet), None, view.now_s)
    return _contact(view, tag, danger=True)


def _second_symptom(view: View, besides: tuple[str, ...]) -> Verdict:
    """Any other detector wet, supply and return flow far apart, or the mass balance: alone that is no more than an alarm."""
    flows = view.imbalance()
    others = [tag for tag in DETECTORS if tag not in besides]
    return any_of([
        D if view.memory.sensors.balance.leaking else H,
        U if flows is None else D if flows.apart_lpm > flows.tolerated_lpm else H,
        *(_detector(view, tag).verdict for tag in voting(view, others)),
    ])


def all_detectors_lost(view: View) -> Judgement:
    """SIF-1 blind: no rack detector can be believed."""
    judgements = [_detector(view, tag) for tag in voting(view, RACK_DETECTORS)]
    if not judgements:
        return NOT_ARMED
    return _first(judgements, U if all(one.blind for one in judgements) else H)


def over_pressure(view: View) -> Judgement:
    """SIF-2. A rack whose supply valve is proven shut is another matter: trapped liquid, an alarm."""
    if view.on("ZSC-101") is True:
        return NOT_ARMED
    return _above(view, "PT-101", view.limits.supply_hh_kpa)


def return_hot(limit_c: Callable[[View], float]) -> Judge:
    """SIF-3: two of three return temperatures above the limit, while there is flow to carry the heat there."""

    def judge(view: View) -> Judgement:
        flow = view.best("FT-101", "FT-102")
        if not permit_on(view) or (flow is not None and flow <= CARRYING_FRACTION * view.limits.flow_nominal_lpm):
            return NOT_ARMED
        votes = [_above(view, tag, limit_c(view)) for tag in ("TT-102A", "TT-102B", "TT-102C")]
        return _first(votes, k_of_n(2, [vote.verdict for vote in votes]))

    return judge


def flow_lost(fraction: Callable[[View], float], hold_by_load: bool) -> Judge:
    """SIF-4: two of {FT-101, FT-102, flow from dP} below a fraction of what the load needs."""

    def judge(view: View) -> Judgement:
        known_kw = view.load_kw()
        load_kw = view.limits.rating_kw if known_kw is None else known_kw
        if not permit_on(view):
            return NOT_ARMED
        if load_kw <= view.limits.armed_load_fraction * view.limits.rating_kw:
            timers = view.memory.timers  # a load that comes and goes freezes a hold
            began = any(one.demand_s > 0.0 or one.verdict is D for key, one in timers.items() if key[:5] == "SIF-4")
            return Judgement(U, "FT-101", at_s=view.at_s("FT-101")) if began else NOT_ARMED
        limit = fraction(view) * view.need_lpm()
        flows = (("FT-101", view.number("FT-101")), ("FT-102", view.number("FT-102")), ("PT-101", view.dp_flow_lpm()))
        votes = [_said(U if flow is None else D if flow < limit else H, view, tag, flow, limit) for tag, flow in flows]
        hold_s = min(3.0, max(1.0, 230.0 / load_kw)) if hold_by_load else None
        return _first(votes, k_of_n(2, [vote.verdict for vote in votes]))._replace(hold_s=hold_s)

    return judge


def supply_hot(limit_c: Callable[[View], float]) -> Judge:
    """SIF-5."""
    return lambda view: _above(view, "TT-101", limit_c(view)) if permit_on(view) else NOT_ARMED


def static_lost(view: View) -> Judgement:
    """SIF-6: both rack pressures below the limit; one lost and the other below is a demand as well."""
    if view.on("ZSC-102") is True:
        return NOT_ARMED
    limit = view.limits.static_ll_kpa
    votes = []
    for tag in ("PT-101", "PT-102"):
        value = view.number(tag)
        votes.append(_said(U if value is None else D if value < limit else H, view, tag, value, limit))
    verdicts = [vote.verdict for vote in votes]
    return _first(votes, H if H in verdicts else D if D in verdicts else U)


def emergency_stop(view: View) -> Judgement:
    """SIF-7: the button, or an accepted emergency_stop."""
    if Effect.ESD in view.asked:
        return Judgement(D, "emergency_stop", 1.0, None, view.now_s)
    return _contact(view, "HS-101", danger=True)


def not_acknowledged(view: View) -> Judgement:
    """SIF-8: age of the last acknowledged valve write, counted from arming when there was none.

    A disarmed rack writes nothing, so nothing can be acknowledged.
    """
    if not view.memory.armed:
        return NOT_ARMED
    ack = view.readings.get("WRITE-ACK")
    since_s = view.memory.armed_since_s if ack is None else max(ack.at_s, view.memory.armed_since_s)
    age_s = view.now_s - since_s
    return Judgement(
        D if age_s >= view.limits.write_dark_s else H, "WRITE-ACK", age_s, view.limits.write_dark_s, since_s
    )


def shut_votes(view: View) -> list[Judgement]:
    """The three votes of SIF-9 on valves that have been demanded shut for long enough; empty before."""
    memory, limits = view.memory, view.limits
    if memory.shut_since_s is None:
        return []
    age_s, stroke_s = view.now_s - memory.shut_since_s, max(limits.stroke_101_s, limits.stroke_102_s)
    if age_s < 1.5 * stroke_s:
        return []
    position = _any([_contact(view, "ZSC-101", danger=False), _contact(view, "ZSC-102", danger=False)])
    limit = limits.closed_flow_fraction * limits.flow_nominal_lpm
    flowing = _any([_above(view, "FT-101", limit), _above(view, "FT-102", limit)])
    if age_s < 1.5 * stroke_s + 4.0 * limits.flow_tau_s:
        flowing = _said(U, view, "FT-101", None, limit)
    refs = (("PT-201", memory.header_ref_kpa), ("PT-202", memory.return_ref_kpa))
    return [position, flowing, _any([_follows(view, header, ref) for header, ref in refs])]


def _follows(view: View, tag: str, ref: tuple[float, float] | None) -> Judgement:
    """Whether the pressure in the rack moves with a header's; unknown until that has moved far enough."""
    rack, header = view.number("PT-101"), view.number(tag)
    if rack is None or header is None or ref is None or abs(header - ref[1]) < FOLLOW_KPA:
        return _said(U, view, "PT-101", rack, None)
    share = (rack - ref[0]) / (header - ref[1])
    return _said(D if share >= FOLLOW_FRACTION else H, view, "PT-101", rack, ref[0])


def not_proven_shut(view: View) -> Judgement:
    """SIF-9: two of three say that the valves are not shut; one alone is doubt, never a demand."""
    votes = shut_votes(view)
    if not votes:
        return NOT_ARMED
    verdicts = [vote.verdict for vote in votes]
    return _first(votes, D if verdicts.count(D) >= 2 else H if verdicts.count(H) >= 2 else U)


def asked(effect: Effect, contact: str = "") -> Judge:
    """SIF-10: somebody entitled asked for it in this scan, or its wired contact is closed. Silence is never a demand."""

    def judge(view: View) -> Judgement:
        if effect not in view.asked and contact and view.on(contact) is True:
            return _contact(view, contact, danger=True)
        return Judgement(D if effect in view.asked else H, "request", 1.0, None, view.now_s)

    return judge


def left_open_limit(view: View) -> Judgement:
    """SIF-12: an open limit lost, together with its shut limit made or flow below 70 % of the set-point."""
    limit = 0.7 * view.setpoint_lpm()
    flow = view.best("FT-101", "FT-102")
    low = U if flow is None else D if flow < limit else H
    judgements = []
    stroked = view.memory.stroking(view.now_s)
    for number in ("101", "102"):
        lost = _contact(view, f"ZSO-{number}", danger=False)
        second = any_of([_contact(view, f"ZSC-{number}", danger=True).verdict, low])
        verdict = H if number == stroked or H in (lost.verdict, second) else U if U in (lost.verdict, second) else D
        judgements.append(lost._replace(verdict=verdict))
    return _any(judgements)


def power_not_off(view: View) -> Judgement:
    """SIF-13: the permit is demanded off, and power is still there."""
    since_s, limits = view.memory.permit_off_since_s, view.limits
    if since_s is None:
        return NOT_ARMED
    votes = [
        _contact(view, "XI-101", danger=True),
        _above(view, "ET-101", limits.dead_load_fraction * limits.rating_kw),
    ]
    if view.now_s - since_s >= limits.permit_off_volt_s:
        votes.append(_above(view, "EV-101", limits.dead_volt))
    return _any(votes)


def coil_off(view: View) -> Judgement:
    """OPEN_LOST: an isolation valve's coil is off though it is demanded on, and not stroked by its device."""
    stroked = view.memory.stroking(view.now_s)
    return _any([_contact(view, f"XY-{number}", danger=False) for number in ("101", "102") if number != stroked])


def shut_limit_made(view: View) -> Judgement:
    """OPEN_LOST: an isolation valve is shut though it is demanded open."""
    return _any([_contact(view, "ZSC-101", danger=True), _contact(view, "ZSC-102", danger=True)])


def drain_not_shut(view: View) -> Judgement:
    """OPEN_LOST: the drain valve is not shut while the isolation valves are demanded open."""
    return _contact(view, "ZSC-103", danger=False)


def permit_off(view: View) -> Judgement:
    """PERMIT_LOST: the contactor is off though the permit is demanded; a rise gets a second to arrive."""
    rise_s = view.memory.permit_rise_s
    if rise_s is not None and view.now_s - rise_s < 1.0:
        return NOT_ARMED
    return _contact(view, "XI-101", danger=False)


def shut_limit_lost(view: View) -> Judgement:
    """PROOF_LOST: a valve that was proven shut has left its shut limit; the one that a test moves is its step's matter."""
    moves = STROKED.get(view.memory.step)
    return _any([_contact(view, f"ZSC-{number}", danger=False) for number in ("101", "102") if number != moves])

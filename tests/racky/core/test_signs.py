"""What Valvey, the loop and Racky's own field show, each alone: the cause that stands for it, and no other root."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from fieldkit.alarm import Phase, Priority
from fieldkit.reading import Reason
from racky.core import signs
from racky.core.health_rows import ROWS
from racky.core.memory import Tray
from racky.core.sight import AlarmTold, LatchTold
from tests.racky.core.paper_racky import PaperRacky, reading, running

Change = Callable[[PaperRacky], None]


def told(name: str, *, active: bool = True, phase: Phase = Phase.UNACK, since_s: float = 90.0) -> AlarmTold:
    return AlarmTold(name, active, phase, Priority.HIGH, f"{name} holds", "act", since_s)


def alarm(*names: str) -> Change:
    def change(rack: PaperRacky) -> None:
        rack.valvey = replace(rack.valvey, alarms={name: told(name) for name in names})

    return change


def loop_alarm(*names: str) -> Change:
    def change(rack: PaperRacky) -> None:
        rack.loop = replace(rack.loop, alarms={name: told(name) for name in names})

    return change


def latch(sif: str, cause: str = "evidence") -> Change:
    def change(rack: PaperRacky) -> None:
        rack.valvey = replace(rack.valvey, latches=(LatchTold(sif, cause, 95.0),))

    return change


def valvey(**changes: object) -> Change:
    def change(rack: PaperRacky) -> None:
        rack.valvey = replace(rack.valvey, **changes)  # type: ignore[arg-type]

    return change


def points(**values: float | None) -> Change:
    return lambda rack: rack.points.update({tag.replace("_", "-"): value for tag, value in values.items()})


def own(**values: float | None) -> Change:
    return lambda rack: rack.own.update({tag.replace("_", "-"): value for tag, value in values.items()})


def both(*changes: Change) -> Change:
    def change(rack: PaperRacky) -> None:
        for one in changes:
            one(rack)

    return change


def roots(rack: PaperRacky) -> list[str]:
    return [cause.id for cause in rack.scans[-1].health.roots]


# fmt: off
ALONE: list[tuple[str, Change]] = [
    ("emergency-stop",         latch("SIF-7")),
    ("leak",                   latch("SIF-1")),
    ("memory-lost",            latch("MEM")),
    ("outputs-unacknowledged", latch("SIF-8")),
    ("outputs-unacknowledged", alarm("write-late")),
    ("cdu-trip",               latch("SIF-10", "SIF-10/dark: US-201 1")),
    ("asked-dark",             latch("SIF-10", "SIF-10/dark: an operator")),
    ("over-pressure",          latch("SIF-2")),
    ("return-hot",             latch("SIF-3")),
    ("flow-lost",              latch("SIF-4")),
    ("supply-hot",             latch("SIF-5")),
    ("static-lost",            latch("SIF-6")),
    ("not-proven-shut",        latch("SIF-9")),
    ("gross-imbalance",        latch("SIF-11")),
    ("valve-left-limit",       latch("SIF-12")),
    ("power-not-off",          latch("SIF-13")),
    ("valve-closed",           latch("OPEN_LOST")),
    ("permit-lost",            latch("PERMIT_LOST")),
    ("proof-lost",             latch("PROOF_LOST")),
    ("adopted",                latch("ADOPTED")),
    ("restart-loop",           latch("RESTART_LOOP")),
    ("trip-sif-99-x",          latch("SIF-99/x")),
    ("sensor-bad-ft-101",      alarm("bad-ft-101")),
    ("sensor-off-tt-102a",     alarm("off-tt-102a")),
    ("sensor-stuck-ft-101",    alarm("stuck-ft-101")),
    ("sensor-stuck-jt-101",    alarm("current-jt-101")),
    ("leak-suspected-floor",   alarm("leak-evidence-floor")),
    ("pressure-decay",         alarm("pressure-decay")),
    ("valve-doubt",            alarm("valve-doubt")),
    ("valve-passing-xv-101",   alarm("valve-passing-xv-101")),
    ("trapped-liquid",         alarm("trapped-liquid")),
    ("function-blind-sif-5",   alarm("blind-sif-5")),
    ("near-trip",              alarm("power-cap")),
    ("mass-balance",           alarm("mass-balance")),
    ("flow-short",             alarm("flow-short")),
    ("flow-short",             loop_alarm("flow-short")),
    ("flow-ceiling",           alarm("flow-ceiling")),
    ("branch-changed",         alarm("branch-changed")),
    ("meters-apart",           alarm("meters-apart")),
    ("returns-apart",          alarm("returns-apart")),
    ("heat-balance",           alarm("heat-balance")),
    ("dew-margin",             alarm("dew-margin")),
    ("header-unknown",         alarm("header-unknown")),
    ("contamination-ldt-101",  alarm("contamination-ldt-101")),
    ("stroke-failed",          alarm("stroke-failed")),
    ("sump-high",              alarm("sump-high")),
    ("sump-high",              points(LSH_203=1.0)),
    ("work-failed-late",       alarm("work-failed-late")),
    ("key-locked",             alarm("key-locked")),
    ("bypassed",               alarm("bypass-standing", "bypass-ending")),
    ("storage-fault",          alarm("storage-fault")),
    ("storage-fault",          own(SYS_STORE=1.0)),
    ("alarm-fouling",          alarm("fouling")),
    ("alarm-gate-refused",     alarm("gate-refused")),
    ("alarm-loop-news",        loop_alarm("news")),
    ("pumps-stopped",          loop_alarm("pumps-stopped")),
    ("pumps-stopped",          loop_alarm("pumps-stopping")),
    ("pump-trip",              loop_alarm("pump-trip")),
    ("cdu-leak",               loop_alarm("cdu-leak")),
    ("cdu-leak",               loop_alarm("leak-upstream")),
    ("loop-static-lost",       loop_alarm("static-lost")),
    ("low-level",              loop_alarm("low-level")),
    ("cdu-unknown",            loop_alarm("cdu-unknown")),
    ("loop-disarmed",          loop_alarm("disarmed")),
    ("loop-disarmed",          loop_alarm("rack-unseen")),
    ("cdu-trip",               points(US_201=1.0)),
    ("leak-suspected-ldt-102", points(LDT_102=1.0)),
    ("locked",                 valvey(locks=("anna",))),
    ("valvey-offline",         valvey(online=False)),
    ("valvey-silent",          valvey(online=None)),
    ("not-in-service",         valvey(state="ISOLATED", armed=False)),
    ("tray-wet-t-7",           lambda rack: setattr(rack, "memory", replace(rack.memory, trays={"t_7": Tray(1e9)}))),
    ("psu-fault-111a",         own(XA_111A=1.0)),
    ("psu-fan-112b",           own(SA_112B=1.0)),
    ("psu-fan-112b",           own(ST_112B=200.0)),
    ("psu-hot-113a",           own(TT_113A=55.0)),
    ("ac-lost-113b",           own(EA_113B=1.0)),
    ("battery-low-121",        own(QT_121=30.0)),
    ("on-battery-121",         own(XB_121=1.0)),
    ("humid",                  own(MT_110=90.0)),
    ("door-open",              own(ZS_110=1.0)),
    ("sensor-bad-zs-110",      own(ZS_110=None)),
    ("device-silent-shelf-1",  own(JT_111=None, XI_111=None)),
    ("output-off-xs-112",      own(XI_112=0.0)),
    ("sensor-bad-pt-102",      points(PT_102=None)),
]
# fmt: on
SHADOWED = {"not-in-service": ["valvey-disarmed"], "power-not-off": ["power-not-off"]}
LATE = {"sensor-off-tt-102a": 4.0, "on-battery-121": 3.0, "door-open": 61.0}


@pytest.mark.parametrize(("name", "change"), ALONE, ids=[f"{number}-{name}" for number, (name, _) in enumerate(ALONE)])
def test_one_sign_is_one_root(name: str, change: Change) -> None:
    rack = running()
    rack.follows_load = False
    change(rack)
    rack.run(LATE.get(name, 0.5))
    assert roots(rack) == SHADOWED.get(name, [name]), rack.causes
    assert name in rack.causes


def test_every_row_is_found_above_or_among_the_pairs_below() -> None:
    below = {
        "second-trip-path", "mains-lost", "control-power-lost", "device-silent-*", "battery-in-the-dark-*", "cdu-hot", "sensor-stale-*",
        "limit-switch-*", "flow-blocked", "power-apart", "output-stuck-*", "over-cap", "shed", "power-unknown", "shelves-unknown", "loop-silent",
        "racky-memory-lost", "racky-disarmed", "power-off", "valvey-disarmed", "quarantined", "not-admitted",
    }  # fmt: skip
    found = {
        one.id
        for one in ROWS
        for name, _ in ALONE
        if one.id == name or (one.id.endswith("*") and name.startswith(one.id[:-1]))
    }
    assert {one.id for one in ROWS} - found <= below


def test_an_alarm_that_is_not_active_any_more_is_no_cause_and_a_shelved_one_is_marked() -> None:
    rack = running()
    rack.valvey = replace(rack.valvey, alarms={"fouling": told("fouling", active=False)})
    rack.run(0.5)
    assert rack.causes == []
    rack.valvey = replace(rack.valvey, alarms={"fouling": told("fouling", phase=Phase.SHELVED)})
    rack.run(0.5)
    (cause,) = rack.scans[-1].health.causes
    assert (cause.hidden, cause.since_s, cause.evidence) == (True, 90.0, "fouling holds")


def test_neighbours_troubles_are_not_this_racks() -> None:
    rack = running()
    loop_alarm("racks-leak", "not-proven", "mode-refused", "storage-fault", "two-coordinators")(rack)
    rack.run(0.5)
    assert rack.causes == []


def test_a_loop_that_is_silent_is_a_cause_where_there_is_one() -> None:
    rack = running()
    rack.loop = replace(rack.loop, online=False)
    rack.run(0.5)
    assert rack.causes == ["loop-silent"]
    view = rack.view()
    assert list(signs.loop_silent(replace(view, sight=replace(view.sight, has_loop=False)))) == []
    never = replace(view, sight=replace(view.sight, loop=replace(view.sight.loop, state=None)))
    assert [one.evidence for one in signs.loop_silent(never)] == ["never heard"]


def test_a_valvey_that_was_never_heard_says_so_one_that_hangs_how_long() -> None:
    rack = running()
    rack.valvey = replace(rack.valvey, online=None)
    view = rack.view()
    assert [one.evidence for one in signs.valvey_silent(view)] == ["nothing for 0 s"]
    deaf = replace(view, sight=replace(view.sight, valvey=replace(view.sight.valvey, heard_s=None)))
    assert [one.evidence for one in signs.valvey_silent(deaf)] == ["never heard"]
    rack = running()
    rack.heard = False
    rack.run(10.0)
    assert rack.causes == ["valvey-silent"]
    assert rack.scans[-1].health.causes[0].evidence == "nothing for 10 s"


def test_a_sensor_is_bad_before_its_alarm_says_so() -> None:
    rack = running()
    rack.points["FT-101"] = None
    rack.run(0.5)
    assert rack.causes == ["sensor-bad-ft-101"]
    (cause,) = rack.scans[-1].health.causes
    assert cause.evidence == "FT-101: timeout"
    alarm("bad-ft-101")(rack)
    rack.run(0.5)
    assert rack.causes == ["sensor-bad-ft-101"]


def test_a_silent_device_takes_its_points_along() -> None:
    rack = running()
    points(FT_101=None, FT_102=None, TT_101=None)(rack)
    alarm("link-transmitters", "blind-sif-4")(rack)
    rack.run(0.5)
    assert roots(rack) == ["device-silent-transmitters"]
    assert rack.causes == ["device-silent-transmitters", "function-blind-sif-4"]


def test_a_link_alarm_over_one_sensors_value_is_the_sensor() -> None:
    rack = running()
    alarm("link-feeder-meter")(rack)
    rack.run(0.5)
    assert rack.causes == []
    view = rack.view()
    lost = {**view.sight.valvey.points, "JT-101": reading("JT-101", None, rack.now_s, Reason.SENTINEL)}
    view = replace(view, sight=replace(view.sight, valvey=replace(view.sight.valvey, points=lost)))
    assert [one.name for one in signs.sensor_bad(view)] == ["jt-101"]
    assert list(signs.device_silent(view)) == []


def test_a_silent_device_leaves_another_sensors_own_fault_to_be_told() -> None:
    rack = running()
    alarm("link-feeder-meter")(rack)
    view = rack.view()
    lost = {
        **view.sight.valvey.points, "JT-101": reading("JT-101", None, 1.0, Reason.TIMEOUT), "TT-101": reading("TT-101", None, 1.0, Reason.NAN),
    }  # fmt: skip
    view = replace(view, sight=replace(view.sight, valvey=replace(view.sight.valvey, points=lost)))
    assert [one.name for one in signs.device_silent(view)] == ["feeder-meter"]
    assert [one.name for one in signs.sensor_bad(view)] == ["tt-101"]


def test_a_detectors_contamination_bit_is_lost_with_it() -> None:
    rack = running()
    alarm("bad-lda-101", "bad-ldt-101", "bad-lda-102")(rack)
    rack.run(0.5)
    assert sorted(rack.causes) == ["sensor-bad-lda-102", "sensor-bad-ldt-101"]


def test_many_silent_devices_have_one_cause() -> None:
    rack = running()
    points(FT_101=None, FT_102=None, TT_101=None)(rack)
    alarm("link-a", "link-b")(rack)
    rack.run(0.5)
    assert roots(rack) == ["device-silent-a", "device-silent-b"]
    alarm("link-a", "link-b", "link-c")(rack)
    rack.run(0.5)
    assert roots(rack) == ["control-power-lost"]
    (root,) = rack.scans[-1].health.roots
    assert (root.evidence, root.since_s) == ("silent: a, b, c", 90.0)


def test_a_sensor_that_lies_explains_only_what_hangs_on_it() -> None:
    rack = running()
    rack.valvey = replace(
        rack.valvey, latches=(LatchTold("SIF-5", "TT-101 70", 95.0),), alarms={"bad-ft-101": told("bad-ft-101"), "bad-tt-101": told("bad-tt-101")},
    )  # fmt: skip
    rack.run(0.5)
    found = {cause.id: cause.behind for cause in rack.scans[-1].health.causes}
    assert found["supply-hot"] == "sensor-bad-tt-101"
    assert found["sensor-bad-ft-101"] is None
    assert signs.functions_of("lsh-203") == ()


def test_a_point_that_does_not_come_anew_is_stale() -> None:
    rack = running()
    view = rack.view()
    old = {**view.sight.valvey.points, "FT-101": reading("FT-101", 190.0, rack.now_s - 30.0)}
    view = replace(view, sight=replace(view.sight, valvey=replace(view.sight.valvey, points=old)))
    (one,) = signs.points_missing(view)
    assert (one.name, one.evidence) == ("ft-101", "FT-101 is 30 s old")
    deaf = replace(view, sight=replace(view.sight, valvey=replace(view.sight.valvey, online=False)))
    assert list(signs.points_missing(deaf)) == []


def test_what_is_not_told_is_not_fitted() -> None:
    rack = running()
    for tag in ("LDT-102", "PT-101", "TT-102C", "TY-102"):
        del rack.points[tag]
    rack.run(0.5)
    assert rack.causes == []

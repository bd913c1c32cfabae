"""Power-on while each permissive is missing, each alone: refused with the reason and what would allow it."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from fieldkit.alarm import Phase as AlarmPhase
from fieldkit.alarm import Priority
from racky.core import permissives
from racky.core.causes import NOT_JUDGED
from racky.core.memory import Maintenance, Phase, Tray
from racky.core.permissives import KEEP_ON, POWER_ON
from racky.core.sight import AlarmTold
from tests.racky.core.paper_racky import PaperRacky, running, switched_off

Change = Callable[[PaperRacky], None]


def _setup(**changes: object) -> Change:
    def change(rack: PaperRacky) -> None:
        rack.setup = replace(rack.setup, **changes)  # type: ignore[arg-type]

    return change


def _valvey(**changes: object) -> Change:
    def change(rack: PaperRacky) -> None:
        rack.valvey = replace(rack.valvey, **changes)  # type: ignore[arg-type]

    return change


def _points(**values: float | None) -> Change:
    return lambda rack: rack.points.update({tag.replace("_", "-"): value for tag, value in values.items()})


def _own(**values: float | None) -> Change:
    return lambda rack: rack.own.update({tag.replace("_", "-"): value for tag, value in values.items()})


def _memory(**changes: object) -> Change:
    def change(rack: PaperRacky) -> None:
        rack.memory = replace(rack.memory, **changes)  # type: ignore[arg-type]

    return change


def _unheard(rack: PaperRacky) -> None:
    rack.heard = False
    rack._heard_s -= 10.0


def _dead_mains(rack: PaperRacky) -> None:
    rack.own |= {"EA-112A": 1.0, "EA-112B": None}


def _contaminated(rack: PaperRacky) -> None:
    one = AlarmTold("blind-sif-5", True, AlarmPhase.UNACK, Priority.HIGH, "blind", "mend", 0.0)
    rack.valvey = replace(rack.valvey, alarms={one.id: one})


def _falling(rack: PaperRacky) -> None:
    rack.memory = replace(rack.memory, power=replace(rack.memory.power, phase=Phase.FALLING))
    rack.obeys = False


# fmt: off
MISSING: list[tuple[str, Change, str, str]] = [
    ("armed",              _setup(armed=False),                    "disarmed",                       "armed: true"),
    ("storage",            _own(SYS_STORE=1.0),                    "cannot be written",              "a disk that can be written"),
    ("valvey_heard",       _unheard,                               "Valvey is not heard",            "Valvey running"),
    ("valvey_heard",       _valvey(online=False),                  "Valvey is not heard",            "Valvey running"),
    ("valvey_heard",       _valvey(state_s=None),                  "Valvey is not heard",            "Valvey running"),
    ("valvey_armed",       _valvey(armed=False),                   "disarmed",                       "'arm' at Valvey"),
    ("valvey_armed",       _valvey(armed=None),                    "disarmed",                       "'arm' at Valvey"),
    ("no_latch",           lambda rack: rack.latched("SIF-4", "SIF-8"), "latched: SIF-4, SIF-8",     "'reset' with sif: [SIF-4, SIF-8] at Valvey"),
    ("no_lock",            _valvey(locks=("anna", "otto")),        "locked by anna, otto",           "'unlock' at Valvey"),
    ("key_free",           _points(HS_102=1.0),                    "HS-102 is turned",               "turns it back"),
    ("in_service",         _valvey(state="ISOLATED"),              "in ISOLATED",                    "FLOWING"),
    ("in_service",         _valvey(state=None),                    "in None",                        "FLOWING"),
    ("permit_on",          _points(XI_101=0.0),                    "XI-101",                         "good and on"),
    ("permit_on",          _points(XI_101=None),                   "XI-101",                         "good and on"),
    ("flow_proven",        _points(FT_101=40.0),                   "FT-101 shows 40 L/min",          "at least 49 L/min at FT-101"),
    ("flow_proven",        _points(FT_102=40.0),                   "FT-102 shows 40 L/min",          "at least 49 L/min at FT-102"),
    ("flow_proven",        _points(FT_102=None),                   "FT-102 cannot be believed",      "a good reading of FT-102"),
    ("trays_dry",          _memory(trays={"t7": Tray(1e9)}),       "liquid is reported in t7",       "wet: false"),
    ("out_of_maintenance", _memory(maintenance=Maintenance("anna", "fan", 0.0, 1e9)), "maintenance by anna", "'end_maintenance'"),
    ("not_falling",        _falling,                               "in FALLING",                     "its end: OFF"),
    ("power_left",         _setup(budget_kw=0.0),                  "cap of site is 0 kW",            "above 0 kW"),
    ("outputs_known",      _own(XI_112=None),                      "XI-112 cannot be believed",      "a good reading of XI-112"),
    ("mains",              _dead_mains,                            "no supply of shelf 112",         "EA-112"),
    ("healthy",            _contaminated,                          "function-blind-sif-5",           "repair its inputs"),
]
# fmt: on


def test_a_rack_that_has_everything_is_powered_on() -> None:
    answer = switched_off().ask("power_on")
    assert (answer.fields["status"], answer.fields["code"], answer.fields["reason"]) == ("accepted", "ok", "")


@pytest.mark.parametrize(("code", "change", "reason", "allow"), MISSING, ids=[f"{row[0]}-{row[2]}" for row in MISSING])
def test_power_on_is_refused_while_one_permissive_is_missing(
    code: str, change: Change, reason: str, allow: str
) -> None:
    rack = switched_off()
    change(rack)
    answer = rack.ask("power_on")
    assert answer.fields["status"] == "refused"
    assert answer.fields["code"] == code
    assert reason in answer.fields["reason"]
    assert allow in answer.fields["allow"]
    if rack.obeys:
        assert rack.run(5.0).shown() == [0.0, 0.0, 0.0, 0.0]


def test_every_permissive_but_one_is_missing_somewhere_above() -> None:
    """The second trip path is tested with its reset."""
    assert {one.__name__ for one in POWER_ON} - {row[0] for row in MISSING} == {"not_tripped"}
    assert set(KEEP_ON) <= set(POWER_ON)


def test_a_key_that_is_not_fitted_and_a_tray_that_was_wet_forbid_nothing() -> None:
    rack = switched_off()
    del rack.points["HS-102"]
    rack.memory = replace(rack.memory, trays={"t7": Tray(rack.now_s - 1.0, rack.now_s - 5.0)})
    assert rack.ask("power_on").fields["status"] == "accepted"


def test_mains_ask_one_supply_of_each_shelf() -> None:
    rack = switched_off()
    rack.own |= {"EA-112A": 1.0}
    assert permissives.mains(rack.view()) is None


def test_a_contact_is_on_from_a_half() -> None:
    rack = switched_off()
    rack.points["XI-101"] = 0.5
    assert permissives.permit_on(rack.view()) is None


def test_health_that_was_not_judged_forbids_power() -> None:
    view = running().view()
    assert view.health is NOT_JUDGED
    assert permissives.healthy(view) == ("not-judged: health was not judged yet", "wait for the first step")

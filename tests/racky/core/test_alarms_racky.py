"""Racky's own alarms: each condition alone raises its alarm and no other."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fieldkit.alarm import Phase as AlarmPhase
from racky.core import alarms
from racky.core.alarms import ALARM_ROWS, BY_NAME
from racky.core.facts import FactKind
from racky.core.memory import Maintenance, Phase, Power
from tests.racky.core.paper_racky import PaperRacky, running


def _power(**changes: object) -> Callable[[PaperRacky], None]:
    def change(rack: PaperRacky) -> None:
        power: Power = replace(rack.memory.power, **changes)  # type: ignore[arg-type]
        rack.memory = replace(rack.memory, power=power)

    return change


def _deaf(rack: PaperRacky) -> None:
    rack.valvey = replace(rack.valvey, online=False)


def _disarmed(rack: PaperRacky) -> None:
    rack.setup = replace(rack.setup, armed=False)


def _maintained(rack: PaperRacky) -> None:
    rack.memory = replace(rack.memory, maintenance=Maintenance("anna", "fan", 0.0, 1e9))


def _stored(rack: PaperRacky) -> None:
    rack.own["SYS-STORE"] = 1.0


def _heavy(rack: PaperRacky) -> None:
    for number in (111, 112, 113):
        rack.own[f"JT-{number}"] = 37.5  # 112.5 kW: 2.3 % over the site's 110


# fmt: off
CONDITIONS: list[tuple[str, Callable[[PaperRacky], None]]] = [
    ("second-trip-path", _power(phase=Phase.TRIPPED)),
    ("output-stuck",     _power(late=frozenset({"XS-111"}))),
    ("valvey-silent",    _deaf),
    ("over-cap",         _heavy),
    ("shed",             _power(shed=("XS-113",))),
    ("maintenance",      _maintained),
    ("disarmed",         _disarmed),
    ("storage-fault",    _stored),
]
# fmt: on


def conditions(rack: PaperRacky) -> set[str]:
    view = rack.view()
    return set(alarms.conditions(replace(view, health=rack.scans[-1].health)))


@pytest.mark.parametrize(("name", "change"), CONDITIONS, ids=[name for name, _ in CONDITIONS])
def test_one_condition_raises_one_alarm(name: str, change: Callable[[PaperRacky], None]) -> None:
    rack = running()
    assert conditions(rack) == set()
    change(rack)
    assert conditions(rack) == {name}


def test_bad_health_is_an_alarm_after_half_a_minute() -> None:
    rack = running()
    rack.own["ZS-110"] = None
    rack.run(30.0)
    assert "not-healthy" in conditions(rack)
    assert rack.memory.alarms["not-healthy"].active is False
    rack.run(1.0)
    assert rack.memory.alarms["not-healthy"].active is True
    assert {*dict(CONDITIONS), "not-healthy"} == set(BY_NAME)


def test_a_load_just_within_its_cap_is_none() -> None:
    rack = running()
    for number in (111, 112, 113):
        rack.own[f"JT-{number}"] = 110.0 * 1.02 / 3.0 - 0.001
    assert conditions(rack) == set()
    rack.own |= {"JT-111": None}
    rack.points |= {"ET-101": None, "JT-101": None}
    assert conditions(rack) == set()


def test_an_alarm_lives_is_told_and_goes() -> None:
    rack = running()
    _stored(rack)
    rack.step()
    (fact,) = rack.kinds(FactKind.ALARM)
    row = BY_NAME["storage-fault"]
    assert fact.fields == {
        "alarm": "storage-fault", "phase": AlarmPhase.UNACK, "priority": row.priority, "active": True, "cause": row.cause,
        "consequence": row.consequence, "action": row.action, "respond_s": row.respond_s, "count": 1, "runbook": row.runbook,
    }  # fmt: skip
    assert row.runbook == "docs/operations/runbooks.md#racky-storage-fault"
    rack.ask("ack", alarm="storage-fault")
    rack.own["SYS-STORE"] = 0.0
    rack.run(0.5)
    assert rack.memory.alarms["storage-fault"].active, "it is off after a second"
    rack.run(1.5)
    assert "storage-fault" not in rack.memory.alarms
    phases = [fact.fields["phase"] for fact in rack.kinds(FactKind.ALARM) if fact.fields["alarm"] == "storage-fault"]
    assert phases == ["UNACK", "ACK", "NORMAL"]


def test_an_alarm_that_comes_back_within_its_delay_never_went() -> None:
    rack = running()
    _stored(rack)
    rack.step()
    rack.own["SYS-STORE"] = 0.0
    rack.step()
    rack.own["SYS-STORE"] = 1.0
    rack.step()
    assert rack.memory.alarms["storage-fault"].count == 1


def test_every_row_says_what_it_is_and_what_to_do() -> None:
    assert all(row.cause and row.consequence and row.action and row.respond_s > 0.0 for row in ALARM_ROWS)
    assert all(not row.trip and not row.latching and row.off_delay_s == 1.0 for row in ALARM_ROWS)


def test_every_alarm_has_its_section_in_the_runbooks() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "operations" / "runbooks.md").read_text(encoding="utf-8")
    missing = [row.id for row in ALARM_ROWS if f"\n## {row.runbook.partition('#')[2]}\n" not in page]
    assert missing == []

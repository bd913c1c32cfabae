"""Tray flags: handed to Valvey at once, again while they stand, and their end once."""

from racky.core.ask import Ask
from racky.core.facts import FactKind
from tests.racky.core.paper_racky import PaperRacky, running


def told(rack: PaperRacky, *, wet: bool, for_s: float = 300.0, tray: str = "t7") -> None:
    answer = rack.ask("leak_evidence", role="integration", why="", tray=tray, wet=wet, for_s=for_s)
    assert answer.fields["status"] == "accepted", answer.fields


def asks(rack: PaperRacky, since: int) -> list[Ask]:
    return [one for scan in rack.scans[since:] for one in scan.asks]


def test_a_wet_tray_is_handed_over_in_the_step_that_heard_of_it() -> None:
    rack = running()
    since = len(rack.scans)
    told(rack, wet=True)
    (one,) = asks(rack, since)
    assert one == Ask(
        "leak_evidence/t7", "leak_evidence", "tray t7 reports liquid", {"tray": "t7", "wet": True, "for_s": 300.0}
    )
    (fact,) = rack.kinds(FactKind.EVIDENCE)
    assert fact.fields == {"tray": "t7", "wet": True}
    rack.step()
    assert rack.causes == ["tray-wet-t7"]


def test_it_is_handed_over_again_while_it_stands() -> None:
    rack = running()
    since = len(rack.scans)
    told(rack, wet=True)
    rack.run(29.5)
    assert len(asks(rack, since)) == 1
    rack.step()
    assert [one.args["for_s"] for one in asks(rack, since)] == [300.0, 270.0]
    told(rack, wet=True)
    assert len(asks(rack, since)) == 2, "the same flag told again is no news"
    assert len(rack.kinds(FactKind.EVIDENCE)) == 1


def test_a_dry_tray_is_handed_over_once_and_forgotten() -> None:
    rack = running()
    told(rack, wet=True)
    since = len(rack.scans)
    told(rack, wet=False)
    (one,) = asks(rack, since)
    assert (one.why, one.args) == ("tray t7 is dry again", {"tray": "t7", "wet": False, "for_s": 1.0})
    assert rack.memory.trays == {}
    rack.run(60.0)
    assert len(asks(rack, since)) == 1
    assert [fact.fields["wet"] for fact in rack.kinds(FactKind.EVIDENCE)] == [True, False]


def test_a_flag_ends_with_its_time_and_its_end_is_told() -> None:
    rack = running()
    told(rack, wet=True, for_s=20.0)
    since = len(rack.scans)
    rack.run(19.5)
    assert "t7" in rack.memory.trays
    assert asks(rack, since) == []
    rack.step()
    assert [one.args["wet"] for one in asks(rack, since)] == [False]
    assert rack.memory.trays == {}


def test_a_dry_flag_of_a_tray_that_was_never_wet_is_handed_on_too() -> None:
    rack = running()
    since = len(rack.scans)
    told(rack, wet=False)
    assert [one.args["wet"] for one in asks(rack, since)] == [False]
    assert rack.kinds(FactKind.EVIDENCE) == []


def test_a_tray_that_is_wet_anew_is_handed_over_at_once() -> None:
    rack = running()
    told(rack, wet=True)
    told(rack, wet=False)
    since = len(rack.scans)
    told(rack, wet=True)
    assert [one.args["wet"] for one in asks(rack, since)] == [True]


def test_every_tray_stands_for_itself() -> None:
    rack = running()
    since = len(rack.scans)
    told(rack, wet=True)
    told(rack, wet=True, tray="t8")
    assert [one.args["tray"] for one in asks(rack, since)] == ["t7", "t8"]
    rack.step()
    assert rack.causes == ["tray-wet-t7", "tray-wet-t8"]

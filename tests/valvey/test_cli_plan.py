"""A plan as people read it, and whose coordinator is asked for it."""

from dataclasses import asdict, replace

from fieldkit import envelope
from fieldkit.mqtt_types import Incoming
from fieldkit.outbox import Properties
from tests.valvey.core.loop.paper import PaperLoop
from valvey.cli_plan import Loops, text
from valvey.core.loop import plan


def heard(loops: Loops, loop: str, status: str, *racks: str) -> None:
    base = f"racky/v1/demo/{loop}/loop"
    state = envelope.State(
        simulated=True, boot_id="b", wall_s=0.0, state="SERVING", step=None, since_wall_s=0.0, state_seq=1, latches=(), locks=(),
        bypasses=(), armed=True, inventory=None, tested=None, grants=(), config_digest="d", detail={"racks": list(racks)},
    )  # fmt: skip
    here = envelope.Availability.model_validate({
        "v": 1,
        "simulated": True,
        "status": status,
        "version": "0",
        "boot_id": "b",
        "since_wall_s": 0.0,
    })
    for kind, told in (("state", state), ("availability", here)):
        loops.heard(Incoming(f"{base}/{kind}", envelope.dump(told), True, Properties()))


def test_the_coordinator_that_has_the_rack_and_is_there_is_asked() -> None:
    loops = Loops()
    heard(loops, "cdu1", "online", "r01", "r02")
    heard(loops, "cdu2", "offline", "r03")
    assert (loops.of("r02"), loops.of("r03"), loops.of("r09")) == ("cdu1", None, None)
    heard(loops, "cdu2", "online", "r03")
    assert loops.of("r03") == "cdu2"
    loops.heard(Incoming("racky/v1/demo/cdu3/loop/state", b"{", True, Properties()))
    assert "cdu3" not in loops.racks


def test_a_plan_names_neighbours_set_point_time_and_why_it_would_be_refused() -> None:
    loop = PaperLoop().settled()
    found = asdict(plan.predict(loop.view(), "isolate", "r2")) | {"refused": None}
    said = text("cdu1", False, found)
    assert said.splitlines()[0] == "isolate r2, as cdu1 sees it now"
    assert "neighbours      +33.3 % if the CDU's set-point stayed where it is" in said
    assert "  r4              200.0 L/min, left alone   266.7 L/min" in said
    assert "set-point       800.0 to 600.0 L/min, so that they keep their flow" in said
    assert "CDU's flow      600 L/min afterwards" in said
    assert "time            about 2 min 40 s" in said
    assert said.splitlines()[-1] == "would be        granted"
    assert "volume" not in said


def test_a_plan_of_a_fill_tells_volume_and_pressure_and_what_is_not_known() -> None:
    loop = PaperLoop().settled()
    refused = {"reason": "busy", "would_allow": "later"}
    found = asdict(replace(plan.predict(loop.view(), "fill", "r2"), missing=("the wind",))) | {"refused": refused}
    said = text("cdu1", True, found)
    assert said.startswith("SIMULATED fill r2")
    assert "volume          45 L" in said
    assert "lowest PT-202   150 kPa" in said
    assert "not known       the wind" in said
    assert said.endswith("refused: busy (allows it: later)")
    loop.cdu |= {"CDU-MODE": None, "FT-201": None, "PT-202": None}
    bare = text("cdu1", False, asdict(plan.predict(loop.view(), "fill", "r2")) | {"refused": None})
    assert "neighbours  " not in bare
    assert "set-point" not in bare
    assert bare.count("not known") == 3

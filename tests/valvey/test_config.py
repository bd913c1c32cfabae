"""A rack's file: what is accepted, what is refused, and that all refusals come at once."""

import json
from pathlib import Path

import pytest
import typer
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from fieldkit.errors import ConfigError, Fault
from tests.valvey import racks
from valvey.cli_config import check_config, draw
from valvey.config import RackConfig, load, to_limits
from valvey.core.limits import Limits
from valvey.core.policy import DEFAULT_POLICY
from valvey.ladder import responses

BAD = racks.ROOT / "tests" / "data" / "bad_rack.yaml"

_app = typer.Typer()
_app.command("check-config")(check_config)
_app.command("draw")(draw)


def run(*args: str) -> tuple[int, str]:
    result = CliRunner().invoke(_app, list(args))
    return result.exit_code, result.stdout


def _line(start: str) -> int:
    lines = BAD.read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.strip().startswith(start))


def test_a_rack_says_who_coordinates_its_loop(tmp_path: Path) -> None:
    none, named = to_limits(racks.rack(tmp_path)), to_limits(racks.rack(tmp_path, ("loop: none ", "loop: cdu1 ")))
    assert (none.coordinator, none.name, named.coordinator) == (False, "demo/r01", True)
    armed = ("armed: false ", "armed: true ")
    (fault,) = racks.faults(tmp_path, ("loop: none ", "# "), armed)
    assert (fault.key, fault.message) == ("loop", "is missing: an armed rack says who coordinates its loop")
    assert fault.allowed == "the coordinator's name, or none: nobody shares this rack's loop"
    gone, simulated = ("loop: none ", "# "), ("simulated: false", "simulated: true")
    for sound in ((armed,), (gone,), (gone, armed, simulated)):
        assert racks.faults(tmp_path, *sound) == ()


def test_a_coordinator_is_asked_over_the_broker(tmp_path: Path) -> None:
    lines = racks.EXAMPLE.read_text(encoding="utf-8").splitlines(keepends=True)
    mqtt = next(line for line in lines if line.startswith("mqtt:"))
    (fault,) = racks.faults(tmp_path, ("loop: none ", "loop: cdu1 "), (mqtt, ""))
    assert (fault.key, fault.message) == ("loop", "cdu1 is asked over MQTT, and this rack has no broker")
    assert fault.allowed == "mqtt: {host, port}, or none"
    assert racks.faults(tmp_path, (mqtt, "")) == ()


def test_the_shipped_example_is_sound_and_keeps_the_designs_estimates() -> None:
    limits, design = to_limits(load(racks.EXAMPLE)), Limits()
    tuned = {"stroke_tags", "armed_in_file", "timing", "policy", "max_age_s", "link_of", "name"}
    assert {name: getattr(limits, name) for name in Limits.__slots__ if name not in tuned} == {
        name: getattr(design, name) for name in Limits.__slots__ if name not in tuned
    }
    assert limits.policy == DEFAULT_POLICY
    assert limits.max_age_s["FT-101"] == pytest.approx(0.5)
    assert limits.max_age_s["PT-201"] == pytest.approx(0.6)
    assert limits.link_of["LDT-101"] == "leak_panel"
    assert "XV-101" not in limits.max_age_s
    assert limits.stroke_tags == {"XK-101", "XKI-101", "XKP-101", "XKF-101"}


def test_a_rack_may_do_without_a_device_timed_stroke(tmp_path: Path) -> None:
    gone = [
        (line, "")
        for line in racks.EXAMPLE.read_text(encoding="utf-8").splitlines(keepends=True)
        if line.startswith("  XK")
    ]
    assert len(gone) == 4
    assert to_limits(racks.rack(tmp_path, *gone)).stroke_tags == frozenset()
    assert to_limits(racks.rack(tmp_path, gone[0])).stroke_tags == {"XKI-101", "XKP-101", "XKF-101"}


def test_a_file_with_ten_faults_gets_one_answer_with_all_ten() -> None:
    code, out = run("check-config", str(BAD), "-o", "json")
    answer = json.loads(out)
    assert code == 2
    assert (answer["ok"], answer["digest"]) == (False, None)
    assert {(fault["line"], fault["key"]) for fault in answer["errors"]} == {
        (_line("supply_hh_bar"), "limits.supply_hh_bar"),
        (_line("colour"), "colour"),
        (_line("FT-102:  {bus: transmitters, point: ft_103"), "tags.FT-102"),
        (_line("flow_ll_fraction"), "limits.flow_ll_fraction"),
        (_line("tags:"), "tags.XI-101"),
        (_line("SIF-12"), "trips.SIF-12.hold_s"),
        (_line("expiries"), "expiries.permit_s"),
        (_line("XV-104"), "tags.XV-104"),
        (_line("LDT-103"), "tags.LDT-103"),
        (_line("wiring"), "wiring.W4"),
    }
    assert all(fault["file"] == str(BAD) and fault["allowed"] for fault in answer["errors"])
    assert [fault["nearest"] for fault in answer["errors"] if fault["nearest"]] == ["supply_hh_kpa"]


def test_the_same_ten_faults_stand_in_the_table_for_people() -> None:
    code, out = run("check-config", str(BAD))
    assert code == 2
    assert "10 faults" in out
    assert "two fast scans" in out


def test_a_sound_file_is_answered_with_its_digest_and_response_times() -> None:
    code, out = run("check-config", str(racks.EXAMPLE), "-o", "json")
    answer = json.loads(out)
    assert code == 0
    assert (answer["ok"], answer["errors"], len(answer["digest"])) == (True, [], 64)
    sif_4 = next(line for line in answer["response_times"] if line["row"] == "SIF-4")
    assert sif_4["total_s"] <= sif_4["limit_s"]


def test_a_file_that_is_not_there_is_a_bad_configuration() -> None:
    code, out = run("check-config", "nowhere.yaml", "-o", "json")
    assert code == 2
    assert json.loads(out)["errors"][0]["message"].startswith("cannot be read")


# fmt: off
REFUSED = (
    ("the scan is too slow",               "fast_s: 0.02", "fast_s: 0.06",                             "scan.fast_s", "at most 0.05 s"),
    ("lanes out of order",                 "normal_s: 0.2", "normal_s: 0.01",                          "scan", "fast_s <= normal_s"),
    ("no id",                              "rack: r01\n", "rack: R.01\n",                              "rack", "a-z0-9"),
    ("text for a number",                  "rating_kw: 132.0", "rating_kw: 132 kW",                    "limits.rating_kw", "a number at least 5"),
    ("a raw count for a set-point",        "supply_hh_kpa: 540.0 ", "supply_hh_kpa: 5400.0 ",          "limits.supply_hh_kpa", "at most 1500"),
    ("too little flow for the rating",     "rating_kw: 132.0", "rating_kw: 230.0",                     "limits.flow_nominal_lpm", "at least 325.6"),
    ("a rating beyond the permit expiry",  "rating_kw: 132.0\n  flow_nominal_lpm: 198.0", "rating_kw: 239.0\n  flow_nominal_lpm: 360.0", "limits.rating_kw", "at most 8.18 s"),
    ("H above HH",                         "stroke_102_s: 3.5", "stroke_102_s: 3.5\n  return_h_c: 66.0", "limits.return_h_c", "return_h_c below"),
    ("a flow meter too slow for SIF-4",    "point: ft_101, lane: fast, lag_s: 1.0", "point: ft_101, lane: fast, lag_s: 2.5", "tags.FT-101.lag_s", "at most 2 s"),
    ("SIF-8 after the valves lapsed",      "stroke_102_s: 3.5", "stroke_102_s: 3.5\n  write_dark_s: 12.0", "limits.write_dark_s", "below 12 s"),
    ("permit expiry shorter than restart", "trips:\n", "expiries: {permit_s: 6.0}\ntrips:\n",          "expiries.permit_s", "below 6 s"),
    ("zero for at once",                   "SIF-2: {hold_s: 1.0", "SIF-2: {hold_s: 0",                 "trips.SIF-2.hold_s", "at_once: true"),
    ("a hold for what acts at once",       "SIF-7: {at_once: true}", "SIF-7: {hold_s: 1.0}",           "trips.SIF-7.hold_s", "at_once: true"),
    ("a hold too long",                    "SIF-2: {hold_s: 1.0", "SIF-2: {hold_s: 2.5",               "trips.SIF-2.hold_s", "0.04..2"),
    ("hold and at once",                   "SIF-2: {hold_s: 1.0", "SIF-2: {at_once: true, hold_s: 1.0", "trips.SIF-2.hold_s", "one of the two"),
    ("blind before stale",                 "blind_s: 5.0}", "blind_s: 0.9}",                           "trips.SIF-2.blind_s", "1..10"),
    ("no such function",                   "SIF-2: {", "SIF-22: {",                                    "trips.SIF-22", "SIF-2"),
    ("a shadow that has to act",           "SIF-2: {hold_s: 1.0", "SIF-2: {shadow: true, hold_s: 1.0", "trips.SIF-2.shadow", "SIF-11 only"),
    ("speed on a real rack",               "armed: false ", "speed: 5.0\narmed: false ",               "speed", "simulated: true"),
    ("a profile misspelt",                 "profile: racky_cdu", "profile: racky_cdo",                 "buses.cdu.profile", "racky_cdu"),
    ("a port beyond ports",                "192.168.10.100:502", "192.168.10.100:70000",               "buses.cdu.tcp", "1..65535"),
    ("one device twice",                   "192.168.10.13:502", "192.168.10.12:502",                   "buses.leak_panel.tcp", "one bus a device"),
    ("fast lanes on one gateway",          '"192.168.10.13:502", unit: 1', '"192.168.10.12:502", unit: 2', "buses.leak_panel.tcp", "accepted_by"),
    ("a patient fast lane",                "profile: racky_leak-panel, timeout_s: 0.25", "profile: racky_leak-panel, timeout_s: 0.5", "buses.leak_panel.timeout_s", "at most 0.3"),
    ("writes that wait behind reads",      "write_connection: own", "write_connection: shared",        "buses.valve_controller.write_connection", "own"),
    ("a bus misspelt",                     "FT-101:  {bus: transmitters", "FT-101:  {bus: transmiters", "tags.FT-101.bus", "transmitters"),
    ("a point misspelt",                   "point: ft_101", "point: ft_1o1",                           "tags.FT-101.point", "ft_101"),
    ("one point for two tags",             "point: tt_102b", "point: tt_102a",                         "tags.TT-102B.point", "one tag a point"),
    ("a count in place of a contact",      "point: ldt_103, lane", "point: heartbeat, lane",          "tags.LDT-103.point", "bands"),
    ("a point in another unit",            "point: pt_101", "point: ft_103_x",                         "tags.PT-101.point", "pt_101"),
    ("an output that is read",             "point: xv_103}", "point: xv_103, lane: fast}",             "tags.XV-103.lane", "XY-103"),
    ("an output that cannot be written",   "point: xv_103}", "point: writes_accepted}",                "tags.XV-103.point", "xv_103"),
    ("no lane",                            "point: tt_101, lane: fast,", "point: tt_101,",             "tags.TT-101.lane", "fast, normal, slow"),
    ("a leak detector in a slow lane",     "point: ldt_101, lane: fast", "point: ldt_101, lane: normal", "tags.LDT-101.lane", "fast"),
    ("a needed tag once a minute",         "point: jt_101, lane: normal", "point: jt_101, lane: slow", "tags.JT-101.lane", "fast, normal"),
    ("the loop's device in the fast lane", "point: pt_201, lane: normal", "point: pt_201, lane: fast", "tags.PT-201.lane", "accepted_by"),
    ("no lag",                             "point: ft_102, lane: fast, lag_s: 1.0", "point: ft_102, lane: fast", "tags.FT-102.lag_s", "time constant"),
    ("no panel delay",                     "point: ldt_102, lane: fast, delay_s: 5.0", "point: ldt_102, lane: fast", "tags.LDT-102.delay_s", "wet"),
    ("no such tag",                        "  LSH-203:", "  LSH-303:",                                 "tags.LSH-303", "glossary"),
    ("read back somewhere else",           "point: xy_103,", "point: zsc_999,",                        "tags.XY-103.point", "xy_103"),
    ("a secret in the file",               "password_file: null", "password: x",                       "mqtt.password", "password_file"),
    ("wiring that is neither",             "W4: wired", "W4: {waived_by: X}",                          "wiring.W4", "wired or {waived_by}"),
    ("an FCV-101 too small",               "stroke_102_s: 3.5", "stroke_102_s: 3.5\n  fcv_kvs_m3_h: 23.6", "limits.fcv_kvs_m3_h", "23.65..62.5"),
    ("an FCV-101 without authority",       "stroke_102_s: 3.5", "stroke_102_s: 3.5\n  fcv_kvs_m3_h: 62.6", "limits.fcv_kvs_m3_h", "23.65..62.5"),
    ("a branch wider than its rack",       "stroke_102_s: 3.5", "stroke_102_s: 3.5\n  kv_branch_m3_h: 12.6", "limits.kv_branch_m3_h", "6.25..12.5"),
    ("a branch much narrower",             "stroke_102_s: 3.5", "stroke_102_s: 3.5\n  kv_branch_m3_h: 6.2", "limits.kv_branch_m3_h", "6.25..12.5"),
    ("a rating beyond the usual FCV-101",  "rating_kw: 132.0\n  flow_nominal_lpm: 198.0", "rating_kw: 239.0\n  flow_nominal_lpm: 360.0", "limits.fcv_kvs_m3_h", "Kvs of FCV-101"),
    ("a tray that no rule names",          "limits:\n", "trays: [t1]\nlimits:\n",                      "trays", "named by a rule"),
    ("no policy file",                     "/detectors.yaml", "/detector.yaml",                        "policy", "policy file"),
)  # fmt: skip
# fmt: on


@pytest.mark.parametrize(
    ("old", "new", "key", "allowed"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_it_is_refused_with_its_key_and_what_is_allowed(
    tmp_path: Path, old: str, new: str, key: str, allowed: str
) -> None:
    found = {fault.key: fault for fault in racks.faults(tmp_path, (old, new))}
    assert key in found, f"told instead: {sorted(found)}"
    assert allowed in f"{found[key].allowed} {found[key].message} {found[key].nearest}"
    assert found[key].line is not None


def test_a_point_in_another_unit_says_both_units(tmp_path: Path) -> None:
    found = racks.faults(tmp_path, ("point: pt_101", "point: tt_999"), ("point: tt_101", "point: pt_101"))
    assert "wrong unit: TT-101 is in degC, pt_101 of racky_loop-transmitters is in kPa" in {
        one.message for one in found
    }


def test_the_valves_have_to_be_one_write(tmp_path: Path) -> None:
    line = "XV-{}:  {{bus: valve_controller, point: xv_{}}}"
    swapped = ((line.format(103, 103), line.format(103, 104)), (line.format(104, 104), line.format(104, 103)))
    assert any("side by side" in one.message for one in racks.faults(tmp_path, *swapped))


def test_a_fault_in_a_profile_is_told_with_the_profiles_own_file_and_key(tmp_path: Path) -> None:
    folder = tmp_path / "profiles"
    folder.mkdir()
    for path in (racks.ROOT / "configs" / "profiles").glob("*.yaml"):
        text = path.read_text(encoding="utf-8")
        (folder / path.name).write_text(
            text.replace("max_registers: 125", "max_registers: 126") if path.stem == "racky_cdu" else text
        )
    path = racks.write(tmp_path)
    path.write_text(path.read_text().replace(f"{racks.ROOT}/configs/profiles", "profiles"))
    with pytest.raises(ConfigError) as raised:
        load(path)
    assert [(Path(one.file).name, one.key) for one in raised.value.faults] == [("racky_cdu.yaml", "max_registers")]


def test_a_gateway_may_be_shared_when_somebody_answers_for_it(tmp_path: Path) -> None:
    edits = (
        ('"192.168.10.13:502", unit: 1', '"192.168.10.12:502", unit: 2'),
        ("limits:\n", "shared_path: {accepted_by: Ann Engineer}\nlimits:\n"),
    )
    assert racks.faults(tmp_path, *edits) == ()


def test_a_waived_wiring_is_accepted_with_a_name(tmp_path: Path) -> None:
    data = racks.rack(tmp_path, ("W5: wired", "W5: {waived_by: Ann Engineer}")).data
    assert data.wiring["W5"] != "wired"


def _timing(folder: Path, trips: str, *edits: tuple[str, str]) -> Limits:
    old = "trips:\n  SIF-2: {hold_s: 1.0, blind_s: 5.0}\n  SIF-7: {at_once: true}\n"
    return to_limits(racks.rack(folder, (old, f"trips:\n{trips}"), *edits))


def test_times_of_a_function_are_times_of_its_rows_and_a_rows_own_win(tmp_path: Path) -> None:
    timing = _timing(
        tmp_path, "  SIF-4: {hold_s: 1.5}\n  SIF-4/low: {hold_s: 20.0}\n  SIF-12: {at_once: true}\n"
    ).timing
    assert {key: one.hold_s for key, one in timing.items()} == {"SIF-4": 1.5, "SIF-4/low": 20.0, "SIF-12": 0.0}


def test_a_blind_time_of_sif_4_leaves_its_hold_to_the_load(tmp_path: Path) -> None:
    timing = _timing(tmp_path, "  SIF-4: {blind_s: 2.0}\n").timing["SIF-4"]
    assert (timing.hold_s, timing.blind_s) == (3.0, 2.0)


def test_a_hold_of_sif_1_is_for_rules_that_state_none(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(
        "policy: own\nrules:\n"
        "  - {name: quick, detectors: [LDT-101, LDT-102], action: isolate}\n"
        "  - {name: slow, detectors: [LDT-103], action: isolate, persist_s: 60.0}\n"
    )
    limits = _timing(
        tmp_path,
        "  SIF-1: {hold_s: 0.8, blind_s: 4.0}\n",
        (f"policy: {racks.ROOT}/configs/policies/detectors.yaml", "policy: own.yaml"),
    )
    assert [rule.persist_s for rule in limits.policy] == [0.8, 60.0]
    assert {key: (one.hold_s, one.blind_s) for key, one in limits.timing.items()} == {
        "SIF-1/quick": (0.8, 4.0),
        "SIF-1/slow": (60.0, 4.0),
    }


def test_a_site_may_have_sif_11_told_only(tmp_path: Path) -> None:
    told = _timing(tmp_path, "  SIF-11: {shadow: true}\n")
    assert (told.shadows, told.timing["SIF-11"].hold_s) == (frozenset({"SIF-11"}), 2.0)
    assert _timing(tmp_path, "  SIF-11: {hold_s: 3.0}\n").shadows == frozenset()


def test_the_blind_time_of_all_detectors_is_never_cut_by_that_of_one(tmp_path: Path) -> None:
    assert "SIF-1/blind" not in _timing(tmp_path, "  SIF-1: {blind_s: 4.0}\n").timing


def test_the_digest_follows_what_the_rack_does_and_not_how_it_is_written(tmp_path: Path) -> None:
    plain = racks.rack(tmp_path).digest
    assert racks.rack(tmp_path, ("site: demo\n", "# a comment\nsite: demo\n")).digest == plain
    assert racks.rack(tmp_path, ("rating_kw: 132.0", "rating_kw: 131.0")).digest != plain
    assert racks.rack(tmp_path, ("/detectors.yaml", "/detectors.yaml\nexpiries: {permit_s: 7.0}")).digest != plain


def test_the_ladder_serves_230_kw_with_the_slowest_flow_meters_it_allows(tmp_path: Path) -> None:
    edits = (
        ("rating_kw: 132.0\n  flow_nominal_lpm: 198.0", "rating_kw: 230.0\n  flow_nominal_lpm: 343.0"),
        ("point: ft_101, lane: fast, lag_s: 1.0", "point: ft_101, lane: fast, lag_s: 2.0"),
        ("point: ft_102, lane: fast, lag_s: 1.0", "point: ft_102, lane: fast, lag_s: 2.0"),
    )
    config = racks.rack(tmp_path, *edits)
    sif_4 = next(line for line in responses(config, to_limits(config)) if line.row == "SIF-4")
    assert sif_4.total_s == pytest.approx(2.8 + 0.04 + 1.0 + 0.25 + 0.1)
    assert sif_4.limit_s == pytest.approx(5.0)
    assert to_limits(config).flow_tau_s == pytest.approx(2.0)


def _places(data: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [place for key, value in items for place in ((*path, key), *_places(value, (*path, key)))]


_DATA = yaml.safe_load(racks.text_with())
_PLACES = _places(_DATA)
_JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-9, 10**9),
    st.text("ab-1", max_size=4),
    st.just([]),
    st.just({}),
    st.just([1, {}]),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(_PLACES), st.one_of(st.just("gone"), _JUNK)), min_size=1, max_size=4))
def test_whatever_is_wrong_the_answer_is_a_rack_or_a_list_of_faults(
    tmp_path: Path, edits: list[tuple[tuple[str | int, ...], object]]
) -> None:
    data = json.loads(json.dumps(_DATA))
    for path, value in edits:
        here = data
        for part in path[:-1]:
            here = here[part] if isinstance(here, dict) and part in here else None
        if isinstance(here, dict) and path[-1] in here:
            here.pop(path[-1]) if value == "gone" else here.update({path[-1]: value})
    file = tmp_path / "rack.yaml"
    file.write_text(json.dumps(data), encoding="utf-8")
    rack, faults = _answer(file)
    assert (rack is None) == bool(faults)
    assert all(fault.message and fault.file for fault in faults)


def _answer(file: Path) -> tuple[RackConfig | None, tuple[Fault, ...]]:
    try:
        return load(file), ()
    except ConfigError as error:
        return None, error.faults


def test_fcv_101_and_the_branch_are_taken_by_rating_where_the_file_says_nothing(tmp_path: Path) -> None:
    small = to_limits(racks.rack(tmp_path))
    assert (small.fcv_kvs, small.kv_branch, small.fcv_rangeability, small.flow_dead_s) == (30.4, 12.5, 50.0, 0.5)
    edit = ("rating_kw: 132.0\n  flow_nominal_lpm: 198.0", "rating_kw: 230.0\n  flow_nominal_lpm: 343.0")
    assert to_limits(racks.rack(tmp_path, edit)).fcv_kvs == 50.0
    stated = (
        "stroke_102_s: 3.5",
        "stroke_102_s: 3.5\n  fcv_kvs_m3_h: 40.0\n  kv_branch_m3_h: 11.5\n  fcv_rangeability: 30.0",
    )
    own = to_limits(racks.rack(tmp_path, stated))
    assert (own.fcv_kvs, own.kv_branch, own.kv_rack, own.fcv_rangeability) == (40.0, 11.5, 12.5, 30.0)

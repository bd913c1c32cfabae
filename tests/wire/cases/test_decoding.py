"""Field cases of decoding, polling and quality, through the daemon's own reading."""

import struct
from collections.abc import Generator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from tests.wire.cases.device import Ask, Device, Step, on_tcp, well
from tests.wire.cases.door import (
    HEAD,
    NORMAL_S,
    POINTS,
    TRUE_WORDS,
    TRUTH,
    FieldRows,
    bad,
    because,
    field,
    good,
    profile,
    rack_file,
    tcp,
)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[Device, FieldRows], None, None]:
    with on_tcp() as device:
        device.registers = dict(TRUE_WORDS)
        with field(rack_file(tmp_path_factory.mktemp("decoding"), tcp(device.address))) as rows:
            rows.until_true()
            yield device, rows


@pytest.fixture
def device(running: tuple[Device, FieldRows]) -> Generator[Device, None, None]:
    one, _ = running
    one.registers = dict(TRUE_WORDS)
    yield one
    one.script = well


@pytest.fixture
def rows(running: tuple[Device, FieldRows], device: Device) -> FieldRows:
    _, found = running
    found.until_true()
    return found


def float_words(value: float) -> dict[int, int]:
    high, low = struct.unpack(">HH", struct.pack(">f", value))
    return {2: high, 3: low}


@pytest.mark.field_case("P020")
@pytest.mark.parametrize(("word", "value"), [(65526, -1.0), (65516, -2.0), (0xFF00, -25.6), (300, 30.0)])
def test_a_signed_value_is_read_signed(device: Device, rows: FieldRows, word: int, value: float) -> None:
    device.registers[0] = word
    rows.until("TT-201", lambda row: good(row, value))


@pytest.mark.field_case("P020", "P024")
def test_a_value_out_of_its_range_is_bad_and_no_number(device: Device, rows: FieldRows) -> None:
    since = rows.mark()
    device.registers[0] = 6555
    rows.until("TT-201", because("range"), since=since)
    device.registers[0] = 62536  # -300.0 degC
    device.registers |= float_words(9000.0)
    rows.until("FT-201", because("range"), since=since)
    rows.wait(0.3)
    assert rows.of("TT-201")[-1]["reason"] == "range"
    assert {good(row, 250.0) for row in rows.of("PT-201", since)} == {True}


@pytest.mark.field_case("P021")
def test_a_word_swapped_flow_is_no_zero_flow(device: Device, rows: FieldRows) -> None:
    since = rows.mark()
    swapped = float_words(40.0)
    device.registers |= {2: swapped[3], 3: swapped[2]}
    rows.until("FT-201", because("denormal"), since=since)
    assert 0.0 not in rows.values("FT-201", since)


@pytest.mark.field_case("P021")
@pytest.mark.parametrize(
    ("order", "words"),
    [("ABCD", (0x429B, 0x077A)), ("CDAB", (0x077A, 0x429B)), ("BADC", (0x9B42, 0x7A07)), ("DCBA", (0x7A07, 0x9B42))],
)
def test_each_order_of_words_and_bytes_gives_the_same_value(tmp_path: Path, order: str, words: tuple[int, int]) -> None:
    with on_tcp() as device:
        device.registers = {**TRUE_WORDS, 2: words[0], 3: words[1]}
        head = HEAD.replace("ABCD", order)
        with field(rack_file(tmp_path, tcp(device.address), device=profile(head=head))) as rows:
            rows.until("FT-201", lambda row: good(row, 77.5146))


@pytest.mark.field_case("P021")
@pytest.mark.parametrize(("bits", "reason"), [(0x7FC00000, "nan"), (0x7F800000, "nan"), (0x00000001, "denormal")])
def test_what_is_no_number_is_told(device: Device, rows: FieldRows, bits: int, reason: str) -> None:
    since = rows.mark()
    device.registers |= {2: bits >> 16, 3: bits & 0xFFFF}
    rows.until("FT-201", lambda row: bad(row), since=since)
    assert rows.until("FT-201", bad, since=since)["reason"] in {reason, "range"}


@pytest.mark.field_case("P023")
def test_a_sentinel_costs_its_own_point_alone(device: Device, rows: FieldRows) -> None:
    since = rows.mark()
    device.registers[0] = 0x8000
    rows.until("TT-201", because("sentinel"), since=since)
    device.registers[10] = 0xFFFF
    rows.until("PT-201", because("sentinel"), since=since)
    assert {good(row, 500.0) for row in rows.of("FT-201", since)} == {True}, "of the same block"
    assert {good(row, 150.0) for row in rows.of("PT-202", since)} == {True}


@pytest.mark.field_case("P024")
def test_several_sentinels_of_one_point_are_each_no_value(tmp_path: Path) -> None:
    points = {**POINTS, "tt_201": POINTS["tt_201"].replace("[-32768]", "[-32768, -3000, 32767]")}
    with on_tcp() as device, field(rack_file(tmp_path, tcp(device.address), device=profile(points))) as rows:
        for word in (0x8000, 62536, 32767):
            device.registers = {**TRUE_WORDS, 0: 185}
            rows.until("TT-201", lambda row: good(row, 18.5), since=rows.mark())
            device.registers = {**TRUE_WORDS, 0: word}
            rows.until("TT-201", because("sentinel"), since=rows.mark())


@pytest.mark.field_case("P025", "P043")
def test_what_a_waking_device_says_is_believed_only_when_it_is_in_its_band(tmp_path: Path) -> None:
    count = 0

    def waking(ask: Ask) -> Sequence[Step]:
        nonlocal count
        count += 1
        if count > 9:  # three polls of three requests
            return [ask.good()]
        return [ask.framed(ask.answer()[:2] + b"\xff" * (2 * ask.count))]

    with on_tcp(waking) as device:
        device.registers = dict(TRUE_WORDS)
        edit = (
            "TT-201:  {bus: cdu, point: tt_201, lane: normal",
            "TT-201:  {bus: cdu, point: tt_201, norm: [10.0, 40.0], lane: normal",
        )
        with field(rack_file(tmp_path, tcp(device.address), edit)) as rows:
            rows.until_true()
            first = rows.of("TT-201")[: 3 * 2]
            assert first[0]["quality"] != "GOOD"
            assert not [row for row in rows.of("TT-201") if row["quality"] == "GOOD" and row["value"] != 18.5]
            assert not [row for row in rows.of("PT-201") if row["quality"] == "GOOD" and row["value"] != 250.0]


@pytest.mark.field_case("P029")
def test_one_impossible_step_is_held_and_needs_to_be_confirmed(tmp_path: Path) -> None:
    points = {**POINTS, "tt_201": POINTS["tt_201"].replace("sentinels", "max_rate: 3.0, sentinels")}
    once: list[int] = []

    def spike(ask: Ask) -> Sequence[Step]:
        if once and ask.address == 0:
            ask.device.registers[0] = once.pop()
            answer = [ask.good()]
            ask.device.registers[0] = 185
            return answer
        return [ask.good()]

    with on_tcp(spike) as device:
        device.registers = dict(TRUE_WORDS)
        with field(rack_file(tmp_path, tcp(device.address), device=profile(points))) as rows:
            rows.until_true()
            rows.wait(0.5)
            since = rows.mark()
            once.append(700)
            rows.until("TT-201", lambda row: row["quality"] == "UNCERTAIN" and row["reason"] == "rate", since=since)
            rows.until_true()
            assert not [row for row in rows.of("TT-201", since) if row["quality"] == "GOOD" and row["value"] != 18.5]
            since = rows.mark()
            device.registers[0] = 400
            rows.until("TT-201", lambda row: good(row, 40.0), since=since)


@pytest.mark.field_case("P030")
@pytest.mark.parametrize("most", [3, 40, 60, 125])
def test_no_request_asks_for_more_than_the_device_gives_and_none_splits_a_value(tmp_path: Path, most: int) -> None:
    row = POINTS["pt_201"]
    extra = {f"x{n}": row.replace("address: 10", f"address: {n}") for n in range(30, 220)}
    points = {**POINTS, **extra, "pt_202": row.replace("address: 10", "address: 219"), "pt_201": row}
    points.pop("x219")
    head = HEAD.replace("max_registers: 125", f"max_registers: {most}").replace("holes_ok: false", "holes_ok: true")

    def strict(ask: Ask) -> Sequence[Step]:
        return [ask.good()] if ask.count <= most else [ask.refused(3)]

    with on_tcp(strict) as device:
        device.registers = {**TRUE_WORDS, 219: 150}
        with field(rack_file(tmp_path, tcp(device.address), device=profile(points, head))) as rows:
            rows.until_true()
            assert max(ask.count for ask in device.asked) <= most
            assert not [ask for ask in device.asked if ask.address == 3], "the float is never cut"


@pytest.mark.field_case("P031", "P032")
def test_a_register_that_is_not_there_costs_its_own_point(tmp_path: Path) -> None:
    """Points side by side, one of which the device does not have: asked whole, then in halves, told once."""
    points = {
        **POINTS,
        "pt_201": POINTS["pt_201"].replace("address: 10", "address: 4"),
        "pt_202": POINTS["pt_202"].replace("address: 20", "address: 5"),
    }

    def hole(ask: Ask) -> Sequence[Step]:
        covers = ask.address <= 4 < ask.address + ask.count
        return [ask.refused(2)] if covers else [ask.good()]

    with on_tcp(hole) as device:
        device.registers = {**TRUE_WORDS, 4: 250, 5: 150}
        with field(rack_file(tmp_path, tcp(device.address), device=profile(points))) as rows:
            rows.until_true({"TT-201": 18.5, "FT-201": 500.0, "PT-202": 150.0})
            rows.until("PT-201", because("exception"))
            since = len(device.asked)
            rows.wait(1.0)
            assert not [ask for ask in device.asked[since:] if ask.count > 4], "remembered: never asked whole again"


@pytest.mark.field_case("P031")
def test_a_register_that_nobody_listed_is_never_asked(device: Device, rows: FieldRows) -> None:
    asked = {(ask.address, ask.count) for ask in device.asked}
    assert asked == {(0, 4), (10, 1), (20, 1)}


@pytest.mark.field_case("P037")
def test_neighbours_are_one_request_and_the_rate_is_the_lanes(device: Device, rows: FieldRows) -> None:
    since = len(device.asked)
    rows.wait(2.0)
    blocks = [ask for ask in device.asked[since:] if ask.address == 0]
    assert len(blocks) == pytest.approx(2.0 / NORMAL_S, abs=4)


@pytest.mark.field_case("P039", "P042")
def test_age_is_told_with_every_value_and_grows_no_older_than_three_periods(device: Device, rows: FieldRows) -> None:
    since = rows.mark()
    rows.wait(1.0)
    ages = [row["age_s"] for row in rows.of("TT-201", since) if row["quality"] == "GOOD"]
    assert ages
    assert max(ages) <= max(3 * NORMAL_S, 0.5) + 0.05
    assert min(ages) < 0.06


@pytest.mark.field_case("P041")
def test_a_copy_that_stands_still_is_told_by_the_heartbeat(tmp_path: Path) -> None:
    beat = '{table: input, address: 4, type: u16, scale: 1, raw_unit: "-", unit: "-", range: [0, 65535], heartbeat: true, verified: none, cite: "case"}'
    beating = True
    count = 0

    def script(ask: Ask) -> Sequence[Step]:
        nonlocal count
        if beating:
            count += 1
        ask.device.registers[4] = count
        return [ask.good()]

    with on_tcp(script) as device:
        device.registers = dict(TRUE_WORDS)
        path = rack_file(tmp_path, tcp(device.address), device=profile({**POINTS, "beat": beat}))
        with field(path) as rows:
            rows.until_true()
            since, beating = rows.mark(), False
            rows.until("TT-201", because("stuck"), since=since)
            beating = True
            rows.until_true()


@pytest.mark.field_case("P043")
def test_before_the_first_reading_every_point_is_no_value(tmp_path: Path) -> None:
    with on_tcp(lambda ask: []) as device, field(rack_file(tmp_path, tcp(device.address))) as rows:
        rows.until("TT-201", bad)
        rows.wait(1.0)
        assert rows.values("TT-201") == rows.values("PT-201") == {None}


@pytest.mark.field_case("P101")
def test_times_of_the_rows_are_monotonic(device: Device, rows: FieldRows) -> None:
    rows.wait(0.5)
    times = [row["t_mono_s"] for row in rows.of("TT-201")]
    assert all(later > earlier for earlier, later in pairwise(times))
    assert TRUTH.keys() <= {row["tag"] for row in rows.rows}


@pytest.mark.field_case("P077")
def test_a_measured_contact_is_wet_dry_or_at_fault_and_never_dry_for_want_of_better(tmp_path: Path) -> None:
    rope = "{table: input, address: 30, type: u16, bands: {on: [100, 1500], off: [1600, 3000]}, verified: none, cite: case}"
    edit = ("LDT-101: {bus: leak_panel, point: ldt_101, lane", "LDT-101: {bus: cdu, point: rope, lane")
    expected = ((2000, 0.0, None), (900, 1.0, None), (50, None, "fault"), (1550, None, "range"), (4095, None, "fault"))
    with on_tcp() as device:
        device.registers = {**TRUE_WORDS, 30: 2000}
        file = rack_file(tmp_path, tcp(device.address), edit, device=profile({**POINTS, "rope": rope}))
        with field(file) as rows:
            for raw, value, reason in expected:
                since = rows.mark()
                device.registers[30] = raw
                rows.until(
                    "LDT-101", partial(good, value=value) if value is not None else because(str(reason)), since=since
                )

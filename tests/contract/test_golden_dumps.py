"""Profiles against register dumps typed by hand from the makers' pages, never from the profiles themselves."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fieldkit.point import PointType, Table
from fieldkit.profile import Profile
from fieldkit.reading import Quality, Reading
from fieldkit.spans import Span, plan, want
from fieldkit.words import Decoder, encode, text
from fieldkit.yamlfile import check, load

GOLDEN = Path(__file__).parent / "golden"
PROFILES = Path(__file__).parents[2] / "configs" / "profiles"

TELL_NOTHING = {
    "delta_pmm", "generic_4-20ma", "moxa_iologik-e1242", "ocp_orv3-hpr-psu", "ocp_orv3-psu", "raritan_xerus-pdu",
    "rle_ldra6", "rle_seahawk-10k", "rle_seahawk-ld", "schneider_pm5xxx", "waveshare_relay-8ch",
}  # fmt: skip
"""Devices whose registers hold no text or number that tells them from others, as far as their sources go."""


@cache
def page(name: str) -> dict[str, Any]:
    return load(GOLDEN / name).data


def golden(key: str) -> list[Any]:
    out: list[Any] = []
    for path in sorted(GOLDEN.glob("*.yaml")):
        data = page(path.name)
        for item in data.get(key, []):
            called = item.get("name", item.get("point", item.get("address")))
            out.append(pytest.param(data["profile"], item, id=f"{path.stem}: {called}"))
    return out


@cache
def profile_of(name: str) -> Profile:
    return check(load(PROFILES / f"{name}.yaml"), Profile)


def data_of(words: str) -> bytes:
    return bytes.fromhex(words.replace(" ", ""))


def packed(bits: str) -> bytes:
    """Coils as they stand on a page, the first one first, to the bytes of a reply."""
    values = [int(bit) for bit in bits.replace(" ", "")]
    return sum(bit << n for n, bit in enumerate(values)).to_bytes((len(values) + 7) // 8, "little")


def shown(reading: Reading) -> float | str | None:
    return f"bad {reading.reason}" if reading.quality is Quality.BAD else reading.value


def decoded(span: Span, data: bytes, address: int) -> dict[str, float | str | None]:
    if span.table in {Table.COIL, Table.DISCRETE}:
        word = int.from_bytes(data, "little") >> (span.address - address)
        mask = (1 << span.count) - 1
        reply = (word & mask).to_bytes((span.count + 7) // 8, "little")
        return {r.tag: shown(r) for r in Decoder(span).decode(reply, 1.0)}
    start = 2 * (span.address - address)
    return {r.tag: shown(r) for r in Decoder(span).decode(data[start : start + 2 * span.count], 1.0)}


@pytest.mark.parametrize(("name", "dump"), golden("dumps"))
def test_a_dump_decodes_to_what_the_makers_page_says(name: str, dump: dict[str, Any]) -> None:
    profile = profile_of(name)
    data = packed(dump["bits"]) if "bits" in dump else data_of(dump["words"])
    texts = {point for point in dump["expect"] if profile.points[point].type is PointType.STRING}
    found: dict[str, float | str | None] = {}
    for point_name in texts:
        point = profile.points[point_name]
        start = 2 * (point.address - dump["address"])
        found[point_name] = f"text {text(data[start : start + 2 * point.words])}"
    for span in plan(profile, [want(profile, point, point, "fast") for point in dump["expect"] if point not in texts]):
        assert span.table is Table(dump["table"])
        found |= decoded(span, data, dump["address"])
    assert found == {
        k: v if isinstance(v, str) else pytest.approx(v, rel=1e-6, abs=1e-9) for k, v in dump["expect"].items()
    }


@pytest.mark.parametrize(("name", "word"), golden("bits"))
def test_each_bit_of_a_word_is_the_one_that_the_makers_page_names(name: str, word: dict[str, Any]) -> None:
    profile = profile_of(name)
    names = {bit: point for bit, point in enumerate(word["names"]) if point is not None}
    faults: dict[str, list[int]] = word.get("faults", {})
    inverted: list[str] = word.get("inverted", [])
    (span,) = plan(profile, [want(profile, point, point, "fast") for point in names.values()])
    assert (span.table, span.address, span.count) == (Table(word["table"]), word["address"], 1)
    for raised in range(16):
        found = decoded(span, (1 << raised).to_bytes(2, "big"), word["address"])
        wanted = {
            point: "bad fault" if raised in faults.get(point, []) else float((bit == raised) != (point in inverted))
            for bit, point in names.items()
        }
        assert found == wanted, f"bit {raised}"
    if "all_ones" in word:
        assert set(decoded(span, b"\xff\xff", word["address"]).values()) == {word["all_ones"]}


@pytest.mark.parametrize(("name", "write"), golden("writes"))
def test_a_command_encodes_to_what_the_makers_page_says(name: str, write: dict[str, Any]) -> None:
    profile = profile_of(name)
    point = profile.points[write["point"]]
    words = encode(point, write["value"], profile.order_of(point))
    assert (point.table, point.address) == (Table.HOLDING, write["address"])
    assert b"".join(word.to_bytes(2, "big") for word in words) == data_of(write["words"])


def test_every_profile_has_a_dump_and_every_dump_a_profile() -> None:
    assert {path.name for path in GOLDEN.glob("*.yaml")} == {path.name for path in PROFILES.glob("*.yaml")}


@pytest.mark.parametrize("path", sorted(PROFILES.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_point_of_a_profile_stands_in_a_dump(path: Path) -> None:
    data = page(path.name)
    common = {"firmware", "serial", "uptime"} if path.stem.startswith("racky_") else set()
    dumped = {point for dump in data["dumps"] for point in dump["expect"]}
    walked = {point for word in data.get("bits", []) for point in word["names"]}
    assert set(profile_of(path.stem).points) - common - dumped - walked == set()


@pytest.mark.parametrize("path", sorted(PROFILES.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_profile_is_called_as_its_file(path: Path) -> None:
    assert profile_of(path.stem).profile == path.stem


@pytest.mark.parametrize("path", sorted(PROFILES.glob("*.yaml")), ids=lambda path: path.stem)
def test_what_a_profile_probes_for_is_what_a_dump_says(path: Path) -> None:
    identity = profile_of(path.stem).identity
    if identity is None:
        assert path.stem in TELL_NOTHING
        return
    dumps = page(path.name)["dumps"]
    told = [dump["expect"][identity.point] for dump in dumps if identity.point in dump["expect"]]
    wanted = f"text {identity.expect}" if isinstance(identity.expect, str) else identity.expect
    assert told
    assert told[0] == wanted


def test_the_valve_block_is_one_read_of_nine_registers() -> None:
    profile = profile_of("racky_valve-controller")
    names = ("zso_101", "zsc_102", "xy_101", "xi_101", "hs_101", "zt_101", "heartbeat")
    (span,) = plan(profile, [want(profile, name, name, "fast") for name in names])
    assert (span.address, span.count) == (0, 9)


def test_both_output_groups_lapse_by_themselves_the_permit_first() -> None:
    profile = profile_of("racky_valve-controller")
    expiries = profile.expiries
    assert expiries["permit"].default_s < expiries["valves"].default_s - 3.0
    lapsing = {name: output.expiry for name, output in profile.outputs.items() if output.expiry is not None}
    assert lapsing == {
        "xv_101": "valves",
        "xv_102": "valves",
        "xv_103": "valves",
        "xv_104": "valves",
        "xs_101": "permit",
    }

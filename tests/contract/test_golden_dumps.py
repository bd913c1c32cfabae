"""Profiles against register dumps typed by hand from the makers' pages, never from the profiles themselves."""

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


def golden(key: str) -> list[Any]:
    out: list[Any] = []
    for path in sorted(GOLDEN.glob("*.yaml")):
        data = load(path).data
        for item in data[key]:
            out.append(pytest.param(data["profile"], item, id=f"{path.stem}: {item.get('name', item.get('point'))}"))
    return out


def profile_of(name: str) -> Profile:
    return check(load(PROFILES / f"{name}.yaml"), Profile)


def data_of(words: str) -> bytes:
    return bytes.fromhex(words.replace(" ", ""))


def shown(reading: Reading) -> float | str | None:
    return f"bad {reading.reason}" if reading.quality is Quality.BAD else reading.value


def decoded(span: Span, data: bytes, address: int) -> dict[str, float | str | None]:
    start = 2 * (span.address - address)
    return {r.tag: shown(r) for r in Decoder(span).decode(data[start : start + 2 * span.count], 1.0)}


@pytest.mark.parametrize(("name", "dump"), golden("dumps"))
def test_a_dump_decodes_to_what_the_makers_page_says(name: str, dump: dict[str, Any]) -> None:
    profile, data = profile_of(name), data_of(dump["words"])
    texts = {point for point in dump["expect"] if profile.points[point].type is PointType.STRING}
    found: dict[str, float | str | None] = {}
    for point_name in texts:
        point = profile.points[point_name]
        start = 2 * (point.address - dump["address"])
        found[point_name] = f"text {text(data[start : start + 2 * point.words])}"
    for span in plan(profile, [want(profile, point, point, "fast") for point in dump["expect"] if point not in texts]):
        assert span.table is Table(dump["table"])
        found |= decoded(span, data, dump["address"])
    assert found == {k: v if isinstance(v, str) else pytest.approx(v, abs=1e-9) for k, v in dump["expect"].items()}


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
    dumps = load(GOLDEN / path.name).data["dumps"]
    common = {"firmware", "serial", "uptime"}
    assert set(profile_of(path.stem).points) - common <= {point for dump in dumps for point in dump["expect"]}


@pytest.mark.parametrize("path", sorted(PROFILES.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_profile_is_called_as_its_file(path: Path) -> None:
    assert profile_of(path.stem).profile == path.stem


@pytest.mark.parametrize("path", sorted(PROFILES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_model_text_of_a_dump_is_the_one_that_the_profile_probes_for(path: Path) -> None:
    profile = profile_of(path.stem)
    if profile.identity is None:
        assert path.stem == "schneider_pm5xxx"
        return
    dumps = load(GOLDEN / path.name).data["dumps"]
    told = [dump["expect"][profile.identity.point] for dump in dumps if profile.identity.point in dump["expect"]]
    assert told == [f"text {profile.identity.expect}"]


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

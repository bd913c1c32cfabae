"""The pages of the devices: whole, and plain about what is not known and what a device may not carry."""

import shutil
from pathlib import Path

import pytest

from fieldkit.conflicts import Conflict, Decision
from fieldkit.errors import ConfigError
from fieldkit.point import Point
from fieldkit.profile import Expiry, Output, Profile, Quirk, Serial
from fieldkit.scaling import Choice, ScaleRegister
from fieldkit.yamlfile import check, load
from tests.valvey import racks
from valvey import draw, draw_devices

PAGES = draw_devices.pages(racks.ROOT)
FILES = sorted((racks.ROOT / draw_devices.PROFILES).glob("*.yaml"))


def section(name: str) -> str:
    page = PAGES[draw_devices.FOLDER / f"{name.partition('_')[0]}.md"]
    return page.split(f"\n## {name}\n", 1)[1].split("\n## ", 1)[0]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_point_quirk_and_conflict_of_a_profile_stands_on_its_makers_page(path: Path) -> None:
    profile, text = check(load(path), Profile), section(path.stem)
    for name in (*profile.points, *profile.outputs, *profile.conflicts):
        assert f"| {name} |" in text
    for quirk in profile.quirks:
        assert f"| {quirk.device} | {quirk.we} |" in text
    for name, point in profile.points.items():
        row = next(line for line in text.split("### Points")[1].splitlines() if line.startswith(f"| {name} |"))
        assert f"{point.table} {point.address}" in row
        assert f"| {profile.standing(name)} |" in row
        assert ("wears out" in row) == point.persistent


def test_the_index_names_every_profile_and_who_may_carry_the_permit() -> None:
    rows = {
        line.split("](")[0][3:]: line for line in PAGES[draw_devices.FOLDER / "README.md"].splitlines() if "](" in line
    }
    assert set(rows) >= {path.stem for path in FILES}
    assert rows["racky_valve-controller"].endswith("xv_101, xv_102, xv_103, xv_104, xs_101 |")
    for name in ("waveshare_relay-8ch", "moxa_iologik-e1242", "belimo_energy-valve-v4"):
        assert rows[name].endswith("none: no XS-101, no XV |")
    assert rows["rle_ldra6"].endswith("| - |")


def test_a_page_tells_units_scales_sentinels_and_which_alternative_is_in_use() -> None:
    belimo, rle, loop = section("belimo_energy-valve-v4"), section("rle_seahawk-10k"), section("generic_4-20ma")
    assert (
        "| set_point | **not as delivered** (bus_watchdog): it may not carry XS-101 or an XV | position | - |" in belimo
    )
    assert (
        "| flow | holding 8 | u16 | 0.1 gal/min, read as L/min | 0..5000 | - | raw 65535; error_flow_measurement is set;"
        in belimo
    )
    assert "| command | holding 2 | u16 | - | 0..4 | yes, clears itself |" in belimo
    assert "| cooling_power | holding 27 | u32 CDAB | W, read as kW |" in belimo
    assert "**energy_valve** (in use): a11, 0.01 % [OpenBMC]" in belimo
    assert "1/10 m (0) or ft (1), as register 2 says" in rle
    assert "raw <= 3600; raw >= 21000" in loop
    assert "| hs_101 | input 2 bit 1 | bit, 0 means 1 |" in section("racky_valve-controller")


def test_every_key_of_a_profile_is_explained() -> None:
    text = PAGES[draw_devices.FOLDER / "profile.md"]
    for model in (Profile, Point, Expiry, Output, Conflict, Decision, ScaleRegister, Choice, Serial, Quirk):
        for key in model.model_fields:
            assert f"| `{key}` |" in text, f"{model.__name__}.{key}"
    assert "| `functions` | list of a whole number at least 1 and at most 127 | 1, 2, 3, 4, 5, 6, 15, 16 |" in text
    assert "| `faulted_by` |" in text
    assert 'Bits elsewhere in the device, by name, that say "this sensor is faulty" while they are 1.' in text


def test_pages_of_devices_are_drawn_and_checked_with_the_others(tmp_path: Path) -> None:
    folder = tmp_path / draw_devices.PROFILES
    folder.mkdir(parents=True)
    shutil.copy(racks.ROOT / draw_devices.PROFILES / "rle_ldra6.yaml", folder)
    draw.write(tmp_path)
    devices = tmp_path / draw_devices.FOLDER
    (devices / "sources.md").write_text("by hand")
    assert {path.name for path in devices.iterdir()} == {"README.md", "profile.md", "rle.md", "sources.md"}
    assert draw.stale(tmp_path) == []
    (devices / "rle.md").write_text("by hand")
    (devices / "old.md").write_text(f"{draw.OURS}\nof a profile that is gone")
    assert [path.name for path in draw.stale(tmp_path)] == ["old.md", "rle.md"]


def test_a_profile_that_is_none_stops_the_drawing_with_its_line(tmp_path: Path) -> None:
    folder = tmp_path / draw_devices.PROFILES
    folder.mkdir(parents=True)
    (folder / "acme_x.yaml").write_text("profile: acme_x\n")
    with pytest.raises(ConfigError, match=r"acme_x\.yaml:1: points: is missing"):
        draw_devices.pages(tmp_path)

"""The lifecycle's files: what ships is sound, and every mistake is told with its line."""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from fieldkit.errors import ConfigError
from firmware_sim.parts.orv3_mailbox import revision_in
from racky.core.lifecycle_chart import STAGES
from racky.core.mailbox import Mailbox
from racky.core.plan import DETECTORS, Times
from racky.lifecycle_file import read_detectors, read_gates, read_manifest, read_times

GATES = Path("configs/lifecycle/gates.yaml")
MANIFEST = Path("configs/firmware/manifest.yaml")
GATE = "gates:\n  one: {stage: POWER, measure: outputs_on_pct, unit: '%', low: 100, text: all on, action: look}\n"


def told(read: Callable[[Path], object], path: Path) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read(path)
    return [f"{fault.line}: {fault.key}: {fault.message}" for fault in caught.value.faults]


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_the_shipped_gates_close_every_stage_with_the_shipped_times() -> None:
    assert {gate.stage for gate in read_gates(GATES)} == set(STAGES)
    assert read_times(GATES) == Times()
    assert read_detectors(GATES) == DETECTORS


def test_times_that_are_left_out_are_as_they_ship(tmp_path: Path) -> None:
    path = written(tmp_path / "g.yaml", GATE + "times: {settle: 60, watch: 30}\ndetectors: [LDT-101]\n")
    assert (read_times(path).settle, read_times(path).watch, read_times(path).calm) == (60.0, 30.0, Times().calm)
    assert read_detectors(path) == ("LDT-101",)
    path = written(tmp_path / "short.yaml", GATE + "times: {watch: 29}\n")
    assert told(read_times, path)[0].startswith("3: times.watch: ")


def test_the_shipped_images_are_what_they_say() -> None:
    releases, images = read_manifest(MANIFEST)
    assert {release.model for release in releases} >= {"racky-pwr-shelf", "racky-bat-shelf"}
    for release in releases:
        if release.image is not None:
            assert revision_in(images[release.image]) == release.revision
            assert isinstance(release.mailbox, Mailbox)
            assert release.mailbox.two_slots


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("POWER", "RETIRED", "2: gates.one.stage: 'RETIRED' has no gates"),
        ("'%'", "'furlong'", "2: gates.one.unit: 'furlong' is no unit"),
        ("low: 100, ", "", "2: gates.one: gate 'one' has no limit: it could not fail"),
        ("outputs_on_pct", "luck", "2: gates.one: gate 'one' measures 'luck'"),
    ],
)
def test_a_gate_that_is_wrong_is_told_with_its_line(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert told(read_gates, written(tmp_path / "g.yaml", GATE.replace(old, new)))[0].startswith(says)


def test_a_table_without_a_gate_for_every_stage_is_told(tmp_path: Path) -> None:
    faults = told(read_gates, written(tmp_path / "g.yaml", GATE))
    assert faults == [f"1: gates: no gate closes {stage}" for stage in STAGES if stage != "POWER"]


def manifest(tmp_path: Path, line: str, image: bytes = b"RKFW") -> Path:
    (tmp_path / "a.img").write_bytes(image)
    return written(tmp_path / "m.yaml", f"releases:\n  shelf: {{revision: '1', {line}}}\n")


def test_a_release_is_read_with_its_image(tmp_path: Path) -> None:
    line = f"accepts: ['0.9'], image: a.img, sha256: {sha256(b'RKFW').hexdigest()}, mailbox: {{two_slots: true, revision_address: 48}}"
    (release,), images = read_manifest(manifest(tmp_path, line))
    assert (release.model, release.revision, release.accepts, release.image) == (
        "shelf",
        "1",
        ("0.9",),
        "a.img",
    )
    assert release.mailbox == Mailbox()
    assert images == {"a.img": b"RKFW"}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("image: a.img", "2: releases.shelf: image, sha256 and mailbox belong together"),
        ("mailbox: {two_slots: true, revision_address: 48}", "2: releases.shelf: image, sha256 and mailbox belong together"),
        (f"image: a.img, sha256: {'f' * 64}, mailbox: {{two_slots: true, revision_address: 48}}", "2: releases.shelf.image: "),
        (f"image: b.img, sha256: {'f' * 64}, mailbox: {{two_slots: true, revision_address: 48}}", "2: releases.shelf.image: "),
        ("mailbox: {two_slots: true, revision_address: 48, block_bytes: 63}", "2: releases.shelf.mailbox.block_bytes: "),
    ],
)  # fmt: skip
def test_a_release_that_is_wrong_is_told_with_its_line(tmp_path: Path, line: str, says: str) -> None:
    assert told(read_manifest, manifest(tmp_path, line))[0].startswith(says)


def test_an_image_with_another_sum_is_not_taken(tmp_path: Path) -> None:
    line = f"image: a.img, sha256: {'f' * 64}, mailbox: {{two_slots: true, revision_address: 48}}"
    assert (
        f"a.img has the sum {sha256(b'RKFW').hexdigest()}, not {'f' * 64}"
        in told(read_manifest, manifest(tmp_path, line))[0]
    )
    line = line.replace("a.img", "b.img")
    assert "b.img cannot be read: No such file or directory" in told(read_manifest, manifest(tmp_path, line))[0]

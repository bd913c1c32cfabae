"""The kept corpus passes, without the engine; and the loop that stands in for the engine finds what it should."""

import random
from pathlib import Path

import pytest

from fieldkit import yamlfile
from fieldkit.profile import Profile
from tests.fuzz import one
from tests.fuzz.edits import RAW, WORDS, edited
from tests.fuzz.targets import LOOPS, PROFILES, RACKS, TARGETS

CORPUS = Path(__file__).parent / "corpus"
MOST_BYTES = 512 * 1024
"""Of the whole corpus: it is kept in the repository."""


@pytest.mark.parametrize("target", TARGETS)
def test_every_kept_input_is_taken_or_refused_and_none_raises(target: str) -> None:
    function, _, most = TARGETS[target]
    kept = sorted((CORPUS / target).iterdir())
    assert kept
    for path in kept:
        data = path.read_bytes()
        assert len(data) <= most
        function(data)


def test_the_corpus_belongs_to_the_targets_and_stays_small() -> None:
    assert {path.name for path in CORPUS.iterdir()} == set(TARGETS)
    assert sum(path.stat().st_size for path in CORPUS.rglob("*")) <= MOST_BYTES


def test_the_parts_of_the_targets_are_the_whole() -> None:
    assert sum(part for _, part, _ in TARGETS.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("paths", [PROFILES, RACKS, LOOPS], ids=["profiles", "racks", "loops"])
def test_without_edits_a_file_is_itself_and_a_raw_input_is_the_whole_file(paths: tuple[Path, ...]) -> None:
    assert edited(b"\x00", paths) == paths[0].read_bytes()
    assert edited(bytes((RAW,)) + b"a: 1", paths) == b"a: 1"
    assert edited(b"", paths) == b""


def test_an_edit_changes_one_word_and_nothing_else() -> None:
    base = PROFILES[0].read_bytes()
    known = edited(b"\x00" + b"\x00\x05" + bytes((WORDS.index(b"65536"),)), PROFILES)
    own = edited(b"\x00" + b"\x00\x05" + bytes((len(WORDS) + 2,)) + b"hi", PROFILES)
    for changed, word in ((known, b"65536"), (own, b"hi")):
        at = next(n for n in range(len(base)) if base[n] != changed[n])
        assert changed[at : at + len(word)] == word
        gone = len(base) - len(changed) + len(word)
        assert changed[at + len(word) :] == base[at + gone :]


def test_edits_make_sound_profiles_as_well_as_faulty_ones() -> None:
    chance = random.Random(4)
    sound = faulty = 0
    for _ in range(60):
        raw = edited(
            bytes((chance.randrange(len(PROFILES)),)) + chance.randbytes(2) + bytes((chance.randrange(60),)), PROFILES
        )
        try:
            yamlfile.check(yamlfile.parse(raw, "x.yaml"), Profile)
        except ValueError:
            faulty += 1
        else:
            sound += 1
    assert min(sound, faulty) >= 5


def test_a_planted_fault_is_found_by_chance_alone_and_its_input_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def planted(data: bytes) -> None:
        if data[:1] == b"\x40":
            raise IndexError("planted")

    monkeypatch.setitem(TARGETS, "planted", (planted, 0.0, 40))
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "a").write_bytes(b"\x00abc")
    with pytest.raises(IndexError, match="planted"):
        one.blind("planted", 20_000, 1, [tmp_path / "kept"], tmp_path / "crashes")
    (left,) = (tmp_path / "crashes").iterdir()
    assert left.read_bytes()[:1] == b"\x40"
    assert one.blind("planted", 1, 1, [tmp_path / "kept"], tmp_path / "crashes") == 0

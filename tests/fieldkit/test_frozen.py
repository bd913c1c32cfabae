"""A copy of a frozen dataclass with some fields changed, slots or not."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import pytest

from fieldkit.frozen import replace


@dataclass(frozen=True)
class Plain:
    number: int = 1
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Slotted:
    number: int = 1
    names: tuple[str, ...] = ()


@pytest.mark.parametrize("kind", [Plain, Slotted])
def test_only_the_named_fields_change_and_the_old_one_stays(kind: Any) -> None:
    old = kind(2, ("a",))
    new = replace(old, number=3)
    assert (new, old) == (kind(3, ("a",)), kind(2, ("a",)))
    assert type(new) is kind
    assert new.names is old.names
    assert replace(old) == old
    with pytest.raises(dataclasses.FrozenInstanceError):
        new.number = 4


@pytest.mark.parametrize("kind", [Plain, Slotted])
def test_a_name_that_is_no_field_is_an_error(kind: Any) -> None:
    with pytest.raises(TypeError, match="wrong"):
        replace(kind(), wrong=1)

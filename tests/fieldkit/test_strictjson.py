"""JSON from strangers."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldkit.errors import Refusal
from fieldkit.strictjson import decode, id_in


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        (b"\xff{}", "not_utf8"),
        (b"", "not_json"),
        (b"{", "not_json"),
        (b'"', "not_json"),
        (b"{}x", "not_json"),
        (b"\xef\xbb\xbf{}", "not_json"),
        (b"[1]", "not_an_object"),
        (b"null", "not_an_object"),
        (b"true", "not_an_object"),
        (b"7", "not_an_object"),
        (b'"x"', "not_an_object"),
        (b'{"a":1,"a":1}', "duplicate_key"),
        (b'{"a":{"b":1,"b":2}}', "duplicate_key"),
        (b'{"a":NaN}', "not_finite"),
        (b'{"a":-Infinity}', "not_finite"),
        (b'{"a":1e999}', "not_finite"),
        (b'{"a":' + b"9" * 20 + b"}", "not_finite"),
        (b'{"a":"\\ud800"}', "not_text"),
        (b'{"a":' * 5 + b"1" + b"}" * 5, "too_deep"),
        (b"[" * 90, "too_deep"),
        (b" " * 101, "too_long"),
    ],
)
def test_what_is_no_plain_object_is_refused_with_a_code(payload: bytes, code: str) -> None:
    refusal = decode(payload, 100, 4)
    assert isinstance(refusal, Refusal)
    assert refusal.code == code
    assert refusal.reason
    assert refusal.would_allow


def test_the_bounds_themselves_are_allowed() -> None:
    assert decode(b'{"a":{"b":{"c":{}}}}' + b" " * 80, 100, 4) == {"a": {"b": {"c": {}}}}


def test_brackets_and_quotes_inside_a_text_are_no_depth() -> None:
    assert decode(rb'{"a":"\"[[[[[[{{{{{{\\"}', 100, 2) == {"a": '"[[[[[[{{{{{{\\'}


def test_a_refusal_names_the_message_where_its_id_can_be_read() -> None:
    refusal = decode(b'{"id":"m1","a":1,"a":2}', 100, 4)
    assert isinstance(refusal, Refusal)
    assert refusal.about == "m1"


def test_an_id_that_stands_twice_names_nothing() -> None:
    refusal = decode(b'{"id":"m1","id":"m2"}', 100, 4)
    assert isinstance(refusal, Refusal)
    assert refusal.about is None


@pytest.mark.parametrize("value", [None, 7, "", "x" * 65, "a\nb", ["x"]])
def test_an_id_that_cannot_be_answered_to_is_none(value: object) -> None:
    assert id_in({"id": value}) is None
    assert id_in({"id": "m1"}) == "m1"


@given(st.binary(max_size=300))
def test_no_bytes_whatever_raise(payload: bytes) -> None:
    assert isinstance(decode(payload, 256, 5), dict | Refusal)


@given(st.text(alphabet='{}[]":,\\ud801.eE+-NaInfinty \n', max_size=200))
def test_no_text_like_json_raises(text: str) -> None:
    assert isinstance(decode(text.encode(), 256, 5), dict | Refusal)


@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8"), max_size=5),
        st.integers(-(2**62), 2**62) | st.floats(allow_nan=False, allow_infinity=False) | st.booleans() | st.none(),
    )
)
def test_every_plain_object_comes_through_unchanged(data: dict[str, object]) -> None:
    assert decode(json.dumps(data).encode(), 100_000, 5) == data

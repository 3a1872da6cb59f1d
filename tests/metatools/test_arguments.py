"""Arguments against third-party schemas: nothing is fetched, nothing takes long (DOS-2)."""

from typing import Any

import pytest

from discovery.calls.argument_check import (
    MOST_BYTES,
    ArgumentsRefusedError,
    check_arguments,
    leave_out_nulls,
)


def refusal(schema: dict[str, Any] | None, arguments: Any) -> str:
    with pytest.raises(ArgumentsRefusedError) as refused:
        check_arguments(schema, arguments)
    return refused.value.reason


def doubling(levels: int) -> dict[str, Any]:
    """Build a schema in which each definition names the next one twice."""
    twice = {
        f"a{level}": {"anyOf": [{"$ref": f"#/$defs/a{level + 1}"}] * 2} for level in range(levels)
    }
    last = {f"a{levels}": {"type": "integer"}}
    return {"properties": {"x": {"$ref": "#/$defs/a0"}}, "$defs": twice | last}


def test_without_a_schema_any_object_fits() -> None:
    check_arguments(None, {"anything": [1, None]})
    assert refusal(None, "text") == "The arguments must be an object."


@pytest.mark.parametrize(
    "reference",
    [
        "http://127.0.0.1:9/x",
        "file:///etc/passwd",
        "other.json#/x",
        "#nowhere",
        "#/$defs/none",
        "#/required/x",
        "#/type/a",
    ],
)
def test_reference_to_outside_is_not_followed(reference: str) -> None:
    schema = {"type": "object", "required": ["x"], "properties": {"x": {"$ref": reference}}}

    assert refusal(schema, {"x": 1}) == "The tool's own schema refers to something outside of it."


@pytest.mark.parametrize("levels", [14, 60, 900])
def test_schema_that_would_take_for_ever_is_refused_at_once(levels: int) -> None:
    assert "too complex" in refusal(doubling(levels), {"x": "s"})


def test_schema_that_branches_into_itself_is_refused() -> None:
    tree = {"properties": {"x": {"anyOf": [{"$ref": "#"}] * 5}, "y": {"type": "integer"}}}

    assert "too complex" in refusal(tree, {"x": {"x": {"y": "s"}}})


def test_tree_and_circle_are_checked() -> None:
    tree = {"properties": {"of": {"type": "array", "items": {"$ref": "#"}}, "n": {"type": "null"}}}
    circle = {
        "$ref": "#/$defs/a",
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
    }

    check_arguments(tree, {"of": [{"of": [{"n": None}]}]})
    check_arguments(circle, {})
    with pytest.raises(ArgumentsRefusedError) as refused:
        check_arguments(tree, {"of": [{"n": 1}]})
    assert refused.value.argument == "of.0.n"


def test_pattern_that_backtracks_is_answered() -> None:
    schema = {"properties": {"x": {"pattern": "^(a+)+$"}}}

    assert refusal(schema, {"x": "a" * 5_000 + "!"}) == 'it does not match "^(a+)+$"'


def test_arguments_are_bounded() -> None:
    deep: Any = 1
    for _ in range(40):
        deep = {"x": deep}

    assert "nested deeper" in refusal(None, deep)
    assert "larger than" in refusal(None, {"x": "y" * MOST_BYTES})
    assert len(refusal({"properties": {"x": {"type": "null"}}}, {"x": "y" * 9_999})) <= 200


@pytest.mark.parametrize(
    "broken",
    [
        {"type": "strange"},
        {"type": "object", "properties": None, "required": None},
        {"properties": {"a": {"type": "string", "required": True}}},
        {"properties": {"a": {"pattern": "(?<never closed"}}},
        {"required": ["a", 5]},
        {"anyOf": []},
        {"$schema": "https://example.com/of-our-own"},
    ],
)
def test_broken_part_of_a_stored_schema_stops_no_call(broken: dict[str, Any]) -> None:
    check_arguments(broken, {"a": "text"})


def test_rest_of_a_broken_schema_still_holds() -> None:
    schema = {"properties": {"a": {"type": "integer"}, "b": None}, "required": None}

    assert refusal(schema, {"a": "text"}) == 'it is not of type "integer"'


BOOKING: dict[str, Any] = {
    "type": "object",
    "required": ["guests"],
    "properties": {
        "guests": {"type": "integer"},
        "note": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "until": {"type": ["string", "null"]},
        "kind": {"$ref": "#/$defs/kind"},
        "colour": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "size": {"enum": ["s", None]},
        "room": {"type": "object", "properties": {"floor": {"type": "integer"}, "any": {}}},
    },
    "$defs": {"kind": {"type": "string"}},
}


@pytest.mark.parametrize("name", [*BOOKING["properties"], "unknown"])
def test_null_stays_only_where_it_is_needed_or_allowed(name: str) -> None:
    kept = leave_out_nulls(BOOKING, {name: None})

    assert (name in kept) == (name in ("guests", "until", "colour", "size", "unknown"))


def test_nulls_of_strict_clients_are_left_out_before_the_check() -> None:
    room = {"floor": None, "any": None}

    kept = leave_out_nulls(BOOKING, {"guests": 2, "note": None, "tags": None, "room": room})

    check_arguments(BOOKING, kept)
    assert kept == {"guests": 2, "room": {"any": None}}
    assert refusal(BOOKING, leave_out_nulls(BOOKING, {"guests": None})) != ""


@pytest.mark.parametrize("schema", [None, {}, {"properties": None}, {"properties": {"a": None}}])
def test_nulls_stay_where_no_schema_says_anything(schema: dict[str, Any] | None) -> None:
    assert leave_out_nulls(schema, {"a": None}) == {"a": None}

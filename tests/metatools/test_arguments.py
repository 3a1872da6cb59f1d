"""Arguments against third-party schemas: nothing is fetched, nothing takes long (DOS-2)."""

from typing import Any

import pytest

from discovery.calls.argument_check import MOST_BYTES, ArgumentsRefusedError, check_arguments


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

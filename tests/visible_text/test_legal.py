"""Schemas that all providers accept."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discovery.answer.formats._legal_schema import arguments_schema
from tests.visible_text.schemas import GOOD, KEYWORDS, ODD

DIALECT = {"$schema": "https://json-schema.org/draft/2020-12/schema"}


@given(st.dictionaries(st.sampled_from(KEYWORDS), ODD, max_size=6))
@example({"additionalProperties": {"$ref": None}})
@example({"properties": {"a": {"$ref": 1}}})
def test_whatever_comes_in_a_legal_object_comes_out(schema: dict[str, Any]) -> None:
    legal = arguments_schema(schema)

    jsonschema_rs.meta.validate({**legal, **DIALECT})
    jsonschema_rs.validator_for({**legal, **DIALECT})  # all references resolve
    assert legal["type"] == "object"
    assert {"anyOf", "allOf", "oneOf", "not", "enum", "$ref"}.isdisjoint(legal)
    assert set(legal.get("required", ())) <= set(legal["properties"])


def test_legal_schema_stays_as_it_is() -> None:
    assert arguments_schema(GOOD) == GOOD
    assert arguments_schema(None) == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("inner", "legal"),
    [
        ({"type": "int"}, {"type": "integer"}),
        ({"type": "any"}, {}),
        ({"type": ["string", "none"]}, {"type": ["string", "null"]}),
        ({"type": ["string", "any"]}, {}),
        ({"type": "array"}, {"type": "array", "items": {}}),
        (
            {"type": "array", "items": [{"type": "number"}, {}]},
            {"type": "array", "prefixItems": [{"type": "number"}, {}], "items": {}},
        ),
        (
            {"type": "number", "minimum": 0, "exclusiveMinimum": True},
            {"type": "number", "exclusiveMinimum": 0},
        ),
        ({"type": "string", "minLength": -1}, {"type": "string"}),
        ({"$ref": "https://a.example/b.json"}, {}),
        ({"$ref": "#/$defs/nowhere"}, {}),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, {}),
        (True, {}),
        ("string", {}),
    ],
)  # fmt: skip
def test_what_is_wrong_is_left_out(inner: Any, legal: dict[str, Any]) -> None:
    schema = arguments_schema({"type": "object", "properties": {"a": inner}})

    assert schema["properties"] == {"a": legal}


def test_required_is_understood_where_the_argument_says_it_itself() -> None:
    schema = arguments_schema({"properties": {"a": {"type": "string", "required": True}, "b": {}}})

    assert schema == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {}},
        "required": ["a"],
    }


def test_top_that_only_points_to_its_object_is_that_object() -> None:
    mail = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}

    schema = arguments_schema({"$ref": "#/$defs/mail", "$defs": {"mail": mail}})

    assert (schema["properties"], schema["required"]) == (mail["properties"], ["to"])


def test_all_of_several_forms_require_what_each_requires() -> None:
    forms = [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}}]

    assert arguments_schema({"allOf": forms})["required"] == ["a"]
    assert "required" not in arguments_schema({"anyOf": forms})

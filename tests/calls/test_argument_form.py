"""Forms made from JSON schemas, and the arguments that they mean."""

from typing import Any

import pytest
from django.http import QueryDict

from discovery.calls.argument_check import ArgumentsRefusedError, check_arguments
from discovery.calls.argument_form import FormField, FormReader, mark_problem

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["to", "subject", "where", "tags"],
    "$defs": {"place": {"type": "object", "properties": {"city": {"type": "string"}}}},
    "properties": {
        "to": {"type": "array", "items": {"type": "string", "format": "email"}},
        "subject": {"type": "string"},
        "body": {"type": "string"},
        "level": {"enum": ["low", 1, True, None]},
        "urgent": {"type": "boolean"},
        "count": {"type": "integer", "default": 3},
        "share": {"type": ["number", "null"]},
        "on": {"type": "string", "format": "date"},
        "kind": {"const": "mail"},
        "where": {"$ref": "#/$defs/place"},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}},
        "rows": {
            "type": "array",
            "items": {"type": "object", "properties": {"x": {"type": "integer"}}},
        },
        "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "either": {
            "oneOf": [
                {"title": "By name", "type": "object", "properties": {"name": {"type": "string"}}},
                {"title": "By id", "type": "integer"},
            ]
        },
        "extra": {"type": "object", "additionalProperties": {"type": "string"}},
        "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}]},
        "both": {
            "allOf": [
                {"type": "object", "properties": {"p": {"type": "string"}}},
                {"properties": {"q": {"type": "string"}}, "required": ["q"]},
            ]
        },
    },
}
CONTROLS = {
    "to": "lines", "subject": "text", "body": "long", "level": "choice", "urgent": "yes_no",
    "count": "number", "share": "number", "on": "text", "kind": "fixed", "where": "object",
    "tags": "several", "rows": "list", "maybe": "text", "either": "either", "extra": "json",
    "pair": "json", "both": "object",
}  # fmt: skip


def sent(schema: Any, *fields: tuple[str, str]) -> tuple[FormReader, FormField, Any]:
    data = QueryDict(mutable=True)
    for name, value in fields:
        data.appendlist(name, value)
    reader = FormReader(schema, data.dict(), data.getlist)  # type: ignore[arg-type]
    form, arguments = reader.read()
    return reader, form, arguments


def as_sent(form: FormField) -> list[tuple[str, str]]:
    """The fields as a browser sends them back."""
    fields: list[tuple[str, str]] = []
    if form.control == "list":
        fields.append((f"count:{form.path}", str(form.count)))
    elif form.control in ("either", "several"):
        name = "either" if form.control == "either" else "arg"
        fields += [(f"{name}:{form.path}", value) for value, _, chosen in form.options if chosen]
    elif form.control not in ("object", "fixed"):
        fields.append((f"arg:{form.path}", form.text))
    return fields + [pair for part in form.parts for pair in as_sent(part)]


def test_each_kind_of_schema_has_its_field() -> None:
    form, _ = FormReader(SCHEMA).read()

    assert {part.name: part.control for part in form.parts} == CONTROLS
    assert [part.name for part in form.parts if part.is_required] == [
        "to", "subject", "where", "tags",
    ]  # fmt: skip
    assert {part.name: part.text for part in form.parts}["count"] == "3"


def test_filled_in_form_means_its_arguments() -> None:
    reader, _, arguments = sent(
        SCHEMA,
        ("arg:/to", "a@b.example\r\n c@d.example \r\n\r\n"), ("arg:/subject", "Hello"),
        ("arg:/body", "Two\r\nlines"), ("arg:/level", "1"), ("arg:/urgent", "false"),
        ("arg:/count", "5"), ("arg:/share", "0.5"), ("arg:/on", "2026-11-30"),
        ("arg:/where/city", "Köln"), ("arg:/tags", "1"), ("count:/rows", "2"),
        ("arg:/rows/0/x", "7"), ("arg:/maybe", ""), ("either:/either", "1"), ("arg:/either", "9"),
        ("arg:/extra", '{"k": "v"}'), ("arg:/pair", ""), ("arg:/both/q", "!"),
    )  # fmt: skip

    assert reader.problems == {}
    assert arguments == {
        "to": ["a@b.example", "c@d.example"], "subject": "Hello", "body": "Two\nlines",
        "level": 1, "urgent": False, "count": 5, "share": 0.5, "on": "2026-11-30", "kind": "mail",
        "where": {"city": "Köln"}, "tags": ["b"], "rows": [{"x": 7}, {}], "either": 9,
        "extra": {"k": "v"}, "both": {"q": "!"},
    }  # fmt: skip
    check_arguments(SCHEMA, arguments)


def test_arguments_come_back_from_the_form_that_shows_them() -> None:
    arguments = {
        "to": ["a@b.example"], "subject": "x", "body": "a\nb", "level": None, "urgent": True,
        "count": 12345678901234567890, "share": 1.5, "kind": "mail", "where": {"city": "x"},
        "tags": ["a", "b"], "rows": [{"x": 1}, {"x": 2}], "maybe": "y",
        "either": {"name": "n"}, "extra": {"a": "b"}, "pair": ["a", 1], "both": {"p": "1"},
    }  # fmt: skip

    form, _ = FormReader(SCHEMA).read(arguments)
    _, _, back = sent(SCHEMA, *as_sent(form))

    assert back == arguments


def test_empty_form_leaves_out_what_is_optional() -> None:
    _, _, arguments = sent(SCHEMA)

    assert arguments == {"kind": "mail", "where": {}, "to": [], "tags": []}


@pytest.mark.parametrize(
    ("path", "text"),
    [("/count", "many"), ("/count", "1e999"), ("/extra", "{"), ("/extra", '{"a": NaN}')],
)
def test_text_that_is_no_value_is_named_and_stays(path: str, text: str) -> None:
    reader, form, arguments = sent(SCHEMA, (f"arg:{path}", text))

    [field] = [part for part in form.parts if part.path == path]
    assert [*reader.problems] == [path]
    assert (field.text, bool(field.problem)) == (text, True)
    assert path[1:] not in arguments


def test_items_are_added_and_removed_within_limits() -> None:
    def rows(*fields: tuple[str, str]) -> int:
        _, form, _ = sent(SCHEMA, *fields)
        return next(part for part in form.parts if part.name == "rows").count

    assert rows(("count:/rows", "2"), ("add", "/rows")) == 3
    assert rows(("count:/rows", "2"), ("remove", "/rows")) == 1
    assert rows(("count:/rows", "0"), ("remove", "/rows")) == 0
    assert rows(("count:/rows", "999"), ("add", "/rows")) == 20
    assert rows(("count:/rows", "9" * 50)) == rows(("count:/rows", "²")) == 0


def test_wrong_argument_is_marked_on_its_field() -> None:
    _, form, arguments = sent(SCHEMA, ("arg:/subject", "x"), ("count:/rows", "1"))
    with pytest.raises(ArgumentsRefusedError) as refused:
        check_arguments({**SCHEMA, "required": ["on"]}, arguments)

    assert mark_problem(form, *refused.value.defects[0])
    assert next(part for part in form.parts if part.name == "on").problem
    assert mark_problem(form, "rows.0.x", "wrong")
    assert form.parts[11].parts[0].parts[0].problem == "wrong"
    assert not mark_problem(form, "unknown", "wrong")
    assert not mark_problem(form, "", "wrong")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}},
        {"$ref": "#"},
        {"properties": {"a": {"$ref": "#/properties/a"}}},
        {"properties": {"a": {"$ref": "https://example.com/x"}, "b": {"$ref": "#/no/where"}}},
        {"properties": {str(n): {"type": "string"} for n in range(5000)}},
        {"properties": {"a": {"anyOf": [{"type": "string"}] * 5000}}},
        {"properties": {"a": {"enum": [*range(5000)]}}},
        {"properties": {"a": {"allOf": [{"$ref": "#/properties/a"}] * 5}}},
        {"properties": {"a": {"allOf": "x", "oneOf": [1, None], "type": 3}, "b": True, "c": 1}},
        {"properties": [], "required": 3, "oneOf": {}},
        {"oneOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {}}]},
        {"additionalProperties": {"type": "string"}},
    ],
)
def test_any_schema_makes_a_form_of_bounded_size(schema: Any) -> None:
    form, _ = FormReader(schema).read({"a": {"a": 1}})
    reader, _, _ = sent(schema, *as_sent(form))

    def size(one: FormField) -> int:
        return 1 + len(one.options) + sum(map(size, one.parts))

    assert size(form) < 2_000
    assert reader.problems == {}


def test_tool_without_parameters_has_no_field_and_one_without_schema_takes_json() -> None:
    none, _ = FormReader({"type": "object", "properties": {}}).read()
    whole, _ = FormReader(None).read({"a": 1})

    assert none.parts == []
    assert (whole.control, sent(None, ("arg:", '{"a": 1}'))[2]) == ("json", {"a": 1})

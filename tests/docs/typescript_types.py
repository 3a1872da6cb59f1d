"""The TypeScript client's types, from OpenAPI, with the Python client's names."""

import json
import re
from collections.abc import Iterator
from typing import Any

from tests.docs.client_types import NAMES, OPEN, ROOTS, Schema
from tests.docs.room_map import PROJECT

MODULE = PROJECT / "docs" / "client-typescript" / "src" / "answers.ts"
# The options of each operation, without the fields that the client's methods fill in themselves.
OPTIONS = {
    "select": ("SelectOptions", {"message"}),
    "plan": ("PlanOptions", {"message"}),
    "discover": ("DiscoverOptions", {"message"}),
    "execute": ("Caller", {"name", "arguments", "turn_id"}),
    "report_outcome": ("OutcomeFields", set[str]()),
    "list_capabilities": ("Filters", set[str]()),
    "get_capability": ("DetailOptions", {"full_name"}),
}
_SHARED = ("tools", "prompt", "renamed", "mode", "turn_id")
_BEGINNING = """\
/**
 * Types of Pegboard's answers, and of what it is asked: JSON as it comes. New fields break nobody.
 *
 * Generated from the API's OpenAPI description: `python -m tests.docs`.
 */
"""
_PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"}


def render_types(description: Schema) -> str:
    """Return the client's module of types for the API's description."""
    components: Schema = description["components"]["schemas"]
    asked = {
        name: _asked(description, operation, without)
        for operation, (name, without) in OPTIONS.items()
    }
    reached = _reached(components, [*ROOTS, *_named_in(asked)])
    aliases = [
        f"export type {_name(each)} = {_union(components[each])};\n"
        for each in sorted(reached)
        if "enum" in components[each]
    ]
    answers = [
        _interface(_name(each), components[each], set(components[each].get("required", ())))
        for each in reached
        if "properties" in components[each]
    ]
    offer = (
        "/** The model's part of every answer to a message. */\n"
        f"export type Offer = Pick<Plan, {' | '.join(json.dumps(name) for name in _SHARED)}>;\n"
    )
    options = [_interface(name, schema, set()) for name, schema in asked.items()]
    return "\n".join([_BEGINNING, "".join(aliases), *answers, offer, *options])


def _reached(components: Schema, roots: list[str]) -> list[str]:
    """Return the names of all components that some lead to, themselves included."""
    found: list[str] = []
    waiting = roots[::-1]
    while waiting:
        name = waiting.pop()
        if name not in found and name not in OPEN:
            found.append(name)
            waiting += _named_in(components[name])[::-1]
    return found


def _named_in(part: Any) -> list[str]:
    return re.findall(r"schemas/(\w+)", str(part))


def _asked(description: Schema, operation_id: str, without: set[str]) -> Schema:
    """Return what an operation takes, from its body or its query, as an object's schema."""
    operation = next(
        operation
        for methods in description["paths"].values()
        for operation in methods.values()
        if operation["operationId"] == operation_id
    )
    if body := operation.get("requestBody"):
        reference = body["content"]["application/json"]["schema"]["$ref"]
        schema: Schema = description["components"]["schemas"][reference.rsplit("/", 1)[1]]
        fields = schema["properties"]
    else:
        fields = {each["name"]: each["schema"] for each in operation["parameters"]}
    left = {name: field for name, field in fields.items() if name not in without}
    return {"description": f"Options of `{operation_id}`.", "properties": left}


def _interface(name: str, schema: Schema, required: set[str]) -> str:
    lines = []
    for field, inner in schema["properties"].items():
        if about := _about(inner):
            lines.append(f"  /** {about} */")
        lines.append(f"  {field}{'' if field in required else '?'}: {_type(inner)};")
    return f"/** {_about(schema)} */\nexport interface {name} {{\n" + "\n".join(lines) + "\n}\n"


def _about(schema: Schema) -> str:
    """Return a description without the list of values that the type has, too."""
    return " ".join(re.split(r"(?:^|\n\n)\* ", schema.get("description", ""))[0].split())


def _type(field: Schema) -> str:
    kinds = dict.fromkeys(_kinds(field))  # in order, each once
    return "unknown" if "unknown" in kinds else " | ".join(kinds)


def _kinds(field: Schema) -> Iterator[str]:
    reference = field.get("$ref") or (field.get("allOf") or [{}])[0].get("$ref")
    if reference:
        name = reference.rsplit("/", 1)[1]
        yield "Record<string, unknown>" if name in OPEN else _name(name)
    elif "oneOf" in field:
        for each in field["oneOf"]:
            yield from _kinds(each)
    elif "enum" in field:
        yield _union(field)
    elif field.get("type") == "array":
        inner = _type(field["items"])
        yield f"({inner})[]" if "|" in inner else f"{inner}[]"
    elif field.get("type") == "object":
        values = field.get("additionalProperties")
        yield f"Record<string, {_type(values) if values else 'unknown'}>"
    else:
        yield _PLAIN.get(field.get("type", ""), "unknown")
    if field.get("nullable"):
        yield "null"


def _union(schema: Schema) -> str:
    return " | ".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"])


def _name(component: str) -> str:
    return NAMES.get(component, component.removesuffix("Enum"))

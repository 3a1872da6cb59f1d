"""The Python client's types, from OpenAPI: `python -m tests.docs`."""

import re
import subprocess
import sys
import textwrap
from typing import Any

from drf_spectacular.generators import SchemaGenerator

from tests.docs.room_map import PROJECT

MODULE = PROJECT / "docs" / "client" / "pegboard_client" / "answers.py"
# The client's names of components that OpenAPI calls otherwise.
NAMES = {
    "SelectionInMode": "Selection",
    "Page": "CapabilityPage",
    "Execution": "Call",
    "OutcomeWindow": "Window",
    "Summary": "Tier0",
    "Lines": "Tier1",
    "InFull": "Tier2",
    "TurnStep": "Step",
    "AccessEnum": "Access",
    "SideEffectEnum": "SideEffect",
    "OutcomeStatus": "Status",
    "FormatEnum": "Format",
}
ALIASES = ("AccessEnum", "FormatEnum", "Kind", "SideEffectEnum", "InjectionMode", "FitEnum",
           "TurnState", "OutcomeStatus", "CallStatus", "SelectionMode")  # fmt: skip
ROOTS = ("OneCapability", "Page", "SelectionInMode", "Plan", "Discovery", "Execution", "Turn",
         "Reported", "MetaTools", "MetaAnswer")  # fmt: skip
# A tool's own answer may have more than OpenAPI says.
OPEN = {"Result"}
_PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
_BEGINNING = '''"""Types of Pegboard's answers: the JSON as it comes. New fields break nobody.

Generated from the API's OpenAPI description: `python -m tests.docs`.
"""

from typing import Any, Literal, NotRequired, TypedDict

'''
Schema = dict[str, Any]


def read_description() -> Schema:
    """Return the API's description: OpenAPI 3."""
    generator = SchemaGenerator()  # type: ignore[no-untyped-call]
    described: Schema = generator.get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return described


def render_types(components: Schema) -> str:
    """Return the client's module of types."""
    parts = [f"{_name(alias)} = {_literal(components[alias])}" for alias in ALIASES]
    done: dict[str, str] = {}
    for root in ROOTS:
        _define(root, components, done)
    mine, theirs = (
        {name: _field(name, field, each, {}) for name, field in each["properties"].items()}
        for each in (components["SelectionInMode"], components["Discovery"])
    )
    shared = {name: kind for name, kind in mine.items() if theirs.get(name) == kind}
    offer = _class("Offer", "The model's part of every answer to a message.", shared)
    text = "\n\n".join([_BEGINNING + "\n".join(parts), *done.values(), offer]) + "\n"
    ruff = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(MODULE), "-"]
    done_by = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True)  # noqa: S603 (our own words)
    return done_by.stdout


def _define(name: str, components: Schema, done: dict[str, str]) -> None:
    """Add the class of a component, after those that it names."""
    for inner in re.findall(r"schemas/(\w+)", str(components[name])):
        if inner not in done and inner not in OPEN and "properties" in components[inner]:
            _define(inner, components, done)
    schema = components[name]
    fields = {
        field: _field(field, inner, schema, components)
        for field, inner in schema["properties"].items()
    }
    done[name] = _class(_name(name), schema["description"], fields)


def _field(name: str, field: Schema, schema: Schema, components: Schema) -> str:
    kind = _type(field, components)
    return kind if name in schema.get("required", ()) else f"NotRequired[{kind}]"


def _class(name: str, about: str, fields: dict[str, str]) -> str:
    text = textwrap.fill(" ".join(about.split()), 90, subsequent_indent="    ")
    lines = "\n".join(f"    {field}: {kind}" for field, kind in fields.items())
    return f'class {name}(TypedDict):\n    """{text}"""\n\n{lines}\n'


def _type(field: Schema, components: Schema | None = None) -> str:
    kind = _bare_type(field, components or {})
    return f"{kind} | None" if field.get("nullable") and kind != "Any" else kind


def _bare_type(field: Schema, components: Schema) -> str:
    if reference := field.get("$ref") or (field.get("allOf") or [{}])[0].get("$ref"):
        name = reference.rsplit("/", 1)[1]
        if name in OPEN:
            return "dict[str, Any]"
        inner = components.get(name, {})
        return _literal(inner) if "enum" in inner and name not in ALIASES else _name(name)
    if "enum" in field:
        return _literal(field)
    if field.get("type") == "array":
        return f"list[{_type(field['items'], components)}]"
    if field.get("type") == "object":
        values = field.get("additionalProperties")
        return f"dict[str, {_type(values, components) if values else 'Any'}]"
    return _PLAIN.get(field.get("type", ""), "Any")


def _literal(schema: Schema) -> str:
    values = ", ".join(f'"{value}"' for value in schema["enum"])
    return f"Literal[{values}]"


def _name(component: str) -> str:
    return NAMES.get(component, component)

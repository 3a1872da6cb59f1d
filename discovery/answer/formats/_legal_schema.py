"""Schemas that every provider accepts: valid JSON Schema 2020-12 with an object at the top.

A provider rejects a whole request for one tool with an invalid schema, and catalogues hold schemas
of older drafts and of none. Invalid parts are dropped. The model then knows less, but no argument
is lost, and the tool itself validates its arguments.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from catalog.formats.descriptors import JSONObject
from catalog.formats.usable_schema import parse_pointer
from catalog.schemas import NAMED, ONE, SEVERAL, find_references

DEEPEST = 40
_TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
# Type names of programming languages; any other unknown type is dropped.
_TYPE_ALIASES = {
    "str": "string",
    "text": "string",
    "int": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "bool": "boolean",
    "list": "array",
    "tuple": "array",
    "dict": "object",
    "map": "object",
    "hash": "object",
    "none": "null",
}
# Keywords about the schema document. Another dialect or base address would be believed.
_DROPPED = frozenset({"$schema", "$id", "$vocabulary", "$dynamicRef", "$recursiveRef"})
# Arguments are one object: providers reject these keywords beside its type.
_NOT_AT_TOP = ("$ref", "not", "enum", "const")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


# A keyword with a value of another shape is dropped.
_SHAPES: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(
        ("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"),
        _is_count,
    ),
    **dict.fromkeys(("maxContains", "minContains"), _is_count),
    **dict.fromkeys(("maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum"), _is_number),
    "multipleOf": lambda value: _is_number(value) and value > 0,
    **dict.fromkeys(("title", "description", "$comment", "format", "pattern"), _is_text),
    **dict.fromkeys(("contentEncoding", "contentMediaType", "$anchor", "$dynamicAnchor"), _is_text),
    "$ref": _is_text,
    **dict.fromkeys(("examples", "enum"), _is_list),
    **dict.fromkeys(("uniqueItems", "deprecated", "readOnly", "writeOnly"), _is_flag),
    **dict.fromkeys(NAMED, lambda value: isinstance(value, dict)),
    "dependentRequired": lambda value: (
        isinstance(value, dict) and all(names == _names(names) for names in value.values())
    ),
    # From an older draft; later ones split it into two keywords.
    "dependencies": lambda value: False,
    **dict.fromkeys(SEVERAL - {"items"}, lambda value: isinstance(value, list) and value != []),
}


def arguments_schema(schema: JSONObject | None) -> JSONObject:
    """Return a valid schema with one object at the top, without properties if there are none.

    Alternatives at the top are merged: the properties of all of them are offered. The result is
    cached and must not be modified.
    """
    return _arguments_schema(json.dumps(schema or {}))


@lru_cache(maxsize=1024)
def _arguments_schema(text: str) -> JSONObject:
    # Cached by the schema's text, since the same tools are rendered repeatedly.
    whole = _object(json.loads(text))
    # Resolve a reference at the top to its object.
    target = _target(whole.get("$ref"), whole)
    allowed = {name: value for name, value in whole.items() if name not in _NOT_AT_TOP}
    top = _legalize(
        _merge_combinations({**target, **allowed} if isinstance(target, dict) else allowed, whole),
        DEEPEST,
    )
    legal = {**top, "type": "object", "properties": top.get("properties", {})}
    if any(_is_dangling(reference, legal) for reference in find_references(legal)):
        legal = _drop_dangling(legal, legal, DEEPEST)
    return legal


def _merge_combinations(top: JSONObject, whole: JSONObject) -> JSONObject:
    """Merge the properties of top-level combinations into the object."""
    merged = {name: value for name, value in top.items() if name not in _NOT_AT_TOP}
    properties = _object(top.get("properties"))
    required = _names(top.get("required"))
    for combination in ("allOf", "anyOf", "oneOf"):
        for form in _list(merged.pop(combination, None)):
            target = _target(_object(form).get("$ref"), whole)
            branch = {**_object(target), **_object(form)}
            properties = {**_object(branch.get("properties")), **properties}
            required += _names(branch.get("required")) if combination == "allOf" else []
    if required:
        merged["required"] = list(dict.fromkeys(required))
    return {**merged, "properties": properties}


def _legalize(schema: Any, depth: int) -> Any:
    """Make one schema and its subschemas valid."""
    if not isinstance(schema, dict) or not depth:
        return schema if isinstance(schema, bool) else {}
    legal = {
        name: _map_subschemas(name, value, lambda inner: _legalize(inner, depth - 1))
        for name, value in _modernize(schema).items()
        if name not in _DROPPED and _SHAPES.get(name, _any_value)(value)
    }
    kinds = _types_of(legal.pop("type", None))
    if kinds:
        legal["type"] = kinds
    return _complete_schema(legal)


def _map_subschemas(keyword: str, value: Any, change: Callable[[Any], Any]) -> Any:
    """Apply `change` to each subschema of a keyword's value."""
    if keyword in NAMED and isinstance(value, dict):
        return {name: {} if inner is True else change(inner) for name, inner in value.items()}
    if keyword in SEVERAL and isinstance(value, list):
        return [change(inner) for inner in value]
    return change(value) if keyword in ONE else value


def _modernize(schema: JSONObject) -> JSONObject:
    """Translate older drafts: tuples, boolean exclusive bounds, `required` flags."""
    modern = dict(schema)
    if isinstance(schema.get("items"), list):
        modern["prefixItems"] = modern.pop("items")
        if "additionalItems" in schema:
            modern["items"] = modern.pop("additionalItems")
    for word in ("Minimum", "Maximum"):
        if schema.get(f"exclusive{word}") is True and _is_number(schema.get(word.lower())):
            modern[f"exclusive{word}"] = modern.pop(word.lower())
    required = _names(schema.get("required"))
    properties = _object(schema.get("properties"))
    required += [
        name
        for name, inner in properties.items()
        if isinstance(inner, dict) and inner.get("required") is True
    ]
    modern.pop("required", None)
    return modern | ({"required": list(dict.fromkeys(required))} if required else {})


def _complete_schema(schema: JSONObject) -> JSONObject:
    """Add what providers require: items of arrays, and a property for each required name."""
    if schema.get("type") == "array" and "items" not in schema:
        schema["items"] = {}
    if "properties" in schema and "required" in schema:
        unknown = [name for name in schema["required"] if name not in schema["properties"]]
        schema["properties"] |= {name: {} for name in unknown}
    return schema


def _types_of(declared: Any) -> str | list[str] | None:
    """Return the type or types in JSON Schema's terms; None if unknown."""
    if isinstance(declared, list):
        kinds = [_type_of(item) for item in declared]
        valid = list(dict.fromkeys(kind for kind in kinds if kind))
        return valid if valid and len(valid) == len(set(map(str, kinds))) else None
    return _type_of(declared)


def _type_of(declared: Any) -> str | None:
    if not isinstance(declared, str):
        return None
    lower = declared.lower()
    return lower if lower in _TYPES else _TYPE_ALIASES.get(lower)


def _drop_dangling(schema: Any, whole: JSONObject, depth: int) -> Any:
    if not isinstance(schema, dict) or not depth:
        return schema
    return {
        name: _map_subschemas(name, value, lambda inner: _drop_dangling(inner, whole, depth - 1))
        for name, value in schema.items()
        if name != "$ref" or not _is_dangling(value, whole)
    }


def _is_dangling(reference: Any, whole: JSONObject) -> bool:
    """Return True if a reference has no target within the schema."""
    return reference != "#" and _target(reference, whole) is None


def _target(reference: Any, whole: JSONObject) -> Any:
    """Return the target of a reference within the schema, or None."""
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    part: Any = whole
    for step in parse_pointer(reference):
        if isinstance(part, list) and step.isdigit() and int(step) < len(part):
            part = part[int(step)]
        elif isinstance(part, dict) and step in part:
            part = part[step]
        else:
            return None
    return part if isinstance(part, dict | bool) else None


def _any_value(_: Any) -> bool:
    return True


def _object(value: Any) -> JSONObject:
    return dict(value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _names(value: Any) -> list[str]:
    items: Iterable[Any] = value if isinstance(value, list) else ()
    return list(dict.fromkeys(name for name in items if isinstance(name, str)))

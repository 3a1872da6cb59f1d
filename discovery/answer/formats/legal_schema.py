"""Schemas that every provider takes: valid in JSON Schema 2020-12, an object at the top.

A provider refuses a whole request for one tool whose schema is wrong, and sources hold schemas of
older drafts and of none. What is wrong is left out: a model is then told less, no argument is lost,
and the tool itself checks what it is called with.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from catalog.formats.descriptors import JSONObject
from catalog.schemas.positions import NAMED, ONE, SEVERAL, find_references, parse_pointer

DEEPEST = 40
_TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
# What people write who think in their own language; anything else says nothing.
_MEANT = {
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
# Another dialect or another address would be believed; both are about the file, not the arguments.
_LEFT_OUT = frozenset({"$schema", "$id", "$vocabulary", "$dynamicRef", "$recursiveRef"})
# A tool's arguments are one object: providers take none of these beside its type.
_NOT_AT_THE_TOP = ("$ref", "not", "enum", "const")


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


# How each must look to be a keyword; what looks otherwise is left out.
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
    **dict.fromkeys(("examples", "enum"), _is_list),
    **dict.fromkeys(("uniqueItems", "deprecated", "readOnly", "writeOnly"), _is_flag),
    **dict.fromkeys(NAMED, lambda value: isinstance(value, dict)),
    "dependentRequired": lambda value: (
        isinstance(value, dict) and all(names == _names(names) for names in value.values())
    ),
    # Of an older draft: names or schemas. Two keywords say it since.
    "dependencies": lambda value: False,
    **dict.fromkeys(SEVERAL - {"items"}, lambda value: isinstance(value, list) and value != []),
}


def arguments_schema(schema: JSONObject | None) -> JSONObject:
    """A legal schema whose top is one object; it has no properties where the tool takes no
    arguments. Shared between answers: not to be changed.

    Forms at the top become one: the properties of all of them are offered.
    """
    return _arguments_schema(json.dumps(schema or {}))


@lru_cache(maxsize=1024)
def _arguments_schema(text: str) -> JSONObject:
    """By its text, since the same tools are rendered again and again."""
    whole = _object(json.loads(text))
    top = _legal(_with_forms(_followed(whole), whole), DEEPEST)
    legal = {**top, "type": "object", "properties": top.get("properties", {})}
    if any(_leads_nowhere(reference, legal) for reference in find_references(legal)):
        legal = _without_dead_ends(legal, legal, DEEPEST)
    return legal


def _followed(schema: JSONObject) -> JSONObject:
    """The object itself where the top only points to it."""
    target = _target(schema.get("$ref"), schema)
    here = {name: value for name, value in schema.items() if name not in _NOT_AT_THE_TOP}
    return {**target, **here} if isinstance(target, dict) else here


def _with_forms(top: JSONObject, whole: JSONObject) -> JSONObject:
    """The top without its forms, and with what they say of properties."""
    merged = {name: value for name, value in top.items() if name not in _NOT_AT_THE_TOP}
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


def _legal(schema: Any, depth: int) -> Any:
    """One schema and all below it."""
    if not isinstance(schema, dict) or not depth:
        return schema if isinstance(schema, bool) else {}
    kept = {
        name: _below(name, value, lambda inner: _legal(inner, depth - 1))
        for name, value in _modern(schema).items()
        if name not in _LEFT_OUT and _SHAPES.get(name, _anything)(value)
    }
    kinds = _kinds(kept.pop("type", None))
    if kinds:
        kept["type"] = kinds
    return _complete(kept)


def _below(keyword: str, value: Any, change: Callable[[Any], Any]) -> Any:
    """A keyword's value with each schema in it changed."""
    if keyword in NAMED and isinstance(value, dict):
        return {name: {} if inner is True else change(inner) for name, inner in value.items()}
    if keyword in SEVERAL and isinstance(value, list):
        return [change(inner) for inner in value]
    return change(value) if keyword in ONE else value


def _modern(schema: JSONObject) -> JSONObject:
    """What older drafts said in another way: tuples, exclusive bounds, arguments that say
    themselves that they are required."""
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


def _complete(schema: JSONObject) -> JSONObject:
    """With what providers miss: what an array holds, and a property for each required name."""
    if schema.get("type") == "array" and "items" not in schema:
        schema["items"] = {}
    if "properties" in schema and "required" in schema:
        unknown = [name for name in schema["required"] if name not in schema["properties"]]
        schema["properties"] |= {name: {} for name in unknown}
    return schema


def _kinds(declared: Any) -> str | list[str] | None:
    """The type in the words of JSON Schema; None where it says nothing."""
    if isinstance(declared, list):
        kinds = [_kind(each) for each in declared]
        known = list(dict.fromkeys(kind for kind in kinds if kind))
        return known if known and len(known) == len(set(map(str, kinds))) else None
    return _kind(declared)


def _kind(declared: Any) -> str | None:
    if not isinstance(declared, str):
        return None
    lower = declared.lower()
    return lower if lower in _TYPES else _MEANT.get(lower)


def _without_dead_ends(schema: Any, whole: JSONObject, depth: int) -> Any:
    if not isinstance(schema, dict) or not depth:
        return schema
    return {
        name: _below(name, value, lambda inner: _without_dead_ends(inner, whole, depth - 1))
        for name, value in schema.items()
        if name != "$ref" or not _leads_nowhere(value, whole)
    }


def _leads_nowhere(reference: Any, whole: JSONObject) -> bool:
    """Or outside the schema, where nobody follows."""
    return reference != "#" and _target(reference, whole) is None


def _target(reference: Any, whole: JSONObject) -> Any:
    """What a reference within the schema points to; None where it points nowhere."""
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    found: Any = whole
    for step in parse_pointer(reference):
        if isinstance(found, list) and step.isdigit() and int(step) < len(found):
            found = found[int(step)]
        elif isinstance(found, dict) and step in found:
            found = found[step]
        else:
            return None
    return found if isinstance(found, dict | bool) else None


def _anything(_: Any) -> bool:
    return True


def _object(value: Any) -> JSONObject:
    return dict(value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _names(value: Any) -> list[str]:
    named: Iterable[Any] = value if isinstance(value, list) else ()
    return list(dict.fromkeys(name for name in named if isinstance(name, str)))

"""Schemas of arguments: references inlined, `allOf` merged, and all of it within a size.

A schema refers to itself, or to half of the document. It is inlined as deep as it fits; what lies
deeper may be any value, and the API itself checks it.
"""

import html
from collections.abc import Iterator
from typing import Any

import nh3

from catalog.formats.descriptors import JSONObject, canonical_json
from catalog.formats.openapi.api_document import OpenApiDocument

MOST_BYTES = 16_000
MOST_NODES = 600
_DEPTHS = (8, 5, 4, 3, 2, 1)
_LONGEST_TEXT = 300
_MOST_CHOICES = 10
_MOST_VALUES = 60
_MOST_PARTS = 100
_PLAIN = (
    *("type", "format", "default", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "multipleOf", "const"),
)
# Types that people write, which JSON Schema does not have.
_MEANT_TYPES = {
    **dict.fromkeys(("int", "int32", "int64", "long", "short"), "integer"),
    **dict.fromkeys(("float", "double", "decimal"), "number"),
    **dict.fromkeys(("str", "text", "date", "datetime", "date-time", "uuid", "enum"), "string"),
    "bool": "boolean",
    "list": "array",
    "dict": "object",
    "map": "object",
}
# Beside a reference, these say no more of the value.
_OF_REFERENCES = frozenset(
    {
        *("$ref", "description", "summary", "title", "deprecated", "readOnly", "writeOnly"),
        *("example", "examples", "externalDocs", "xml"),
    }
)
_TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_WHOLE_NUMBERS = ("minLength", "maxLength", "minItems", "maxItems")


class SchemaReader:
    """Reads schemas of one document. `writing` leaves out what only answers contain."""

    def __init__(self, document: OpenApiDocument, *, writing: bool = True) -> None:
        self._document = document
        self._writing = writing
        self._nodes = 0

    def read(self, schema: Any) -> JSONObject:
        """Return the schema inlined, at the greatest depth at which it is small enough."""
        inlined: JSONObject = {}
        for depth in _DEPTHS:
            self._nodes = 0
            inlined = self._read(schema, depth, ())
            if self._nodes <= MOST_NODES and len(canonical_json(inlined)) <= MOST_BYTES:
                return inlined
        return {key: inlined[key] for key in ("type", "description") if key in inlined}

    def read_shallow(self, schema: Any) -> JSONObject:
        """Return only the first levels, for the names in an answer."""
        self._nodes = 0
        return self._read(schema, 2, ())

    def read_xml(self, schema: Any, name: str = "", depth: int = 5) -> JSONObject:
        """Return the names, attributes and wrappers of the elements of a body in XML."""
        reference = schema.get("$ref") if isinstance(schema, dict) else None
        name = name or (reference.rpartition("/")[2] if isinstance(reference, str) else "")
        plain = self._document.resolve(schema)
        if not isinstance(plain, dict):
            return {"name": name or "root"}
        plain = self._merged(plain)
        xml = plain.get("xml")
        words: JSONObject = xml if isinstance(xml, dict) else {}
        shape: JSONObject = {"name": str(words.get("name") or name or "root")}
        shape |= {key: True for key in ("attribute", "wrapped") if words.get(key) is True}
        if depth and isinstance(plain.get("properties"), dict):
            fields = list(plain["properties"].items())[:_MOST_PARTS]
            shape["fields"] = {
                str(key): self.read_xml(part, str(key), depth - 1) for key, part in fields
            }
        if depth and isinstance(plain.get("items"), dict):
            shape["items"] = self.read_xml(plain["items"], shape["name"], depth - 1)
        return shape

    def _read(self, schema: Any, depth: int, above: tuple[str, ...]) -> JSONObject:
        self._nodes += 1
        if not isinstance(schema, dict) or self._nodes > MOST_NODES:
            return {}
        reference = schema.get("$ref")
        if isinstance(reference, str):
            target = self._document.target(reference)
            if reference in above or not isinstance(target, dict) or len(above) > depth + 8:
                return _described({}, schema)
            beside = {
                key: value
                for key, value in schema.items()
                if key not in _OF_REFERENCES and not str(key).startswith("x-")
            }
            if beside:  # version 3.1 allows it, and people write it before
                whole = _described({"allOf": [{"$ref": reference}], **beside}, schema)
                return self._read(whole, depth, (*above, reference))
            return _described(self._read(target, depth, (*above, reference)), schema)
        schema = self._merged(schema)
        inlined = _plain(schema)
        if depth <= 0:
            return {key: inlined[key] for key in ("type", "description", "enum") if key in inlined}
        self._read_parts(schema, inlined, depth, above)
        return inlined

    def _merged(self, schema: JSONObject) -> JSONObject:
        """Return the schema with the parts of its `allOf`: the first to say something counts."""
        if not isinstance(schema.get("allOf"), list):
            return schema
        merged: JSONObject = {}
        properties: JSONObject = {}
        required: list[str] = []
        for part in self._parts_of(schema):
            for name, value in _mapping(part.get("properties")).items():
                properties.setdefault(name, value)
            required += _names(part.get("required"))
            for key, value in part.items():
                merged.setdefault(key, value)
        merged.pop("allOf", None)
        if properties:
            merged |= {"properties": properties, "required": list(dict.fromkeys(required))}
        return merged

    def _parts_of(self, schema: JSONObject) -> Iterator[JSONObject]:
        """Yield a schema and all parts within its `allOf`, each once, however they are nested."""
        waiting: list[Any] = [schema]
        visited: set[int] = set()
        while waiting and len(visited) < _MOST_PARTS:
            part = self._document.resolve(waiting.pop(0))
            if not isinstance(part, dict) or id(part) in visited:
                continue
            visited.add(id(part))
            yield part
            inner = part.get("allOf")
            waiting += inner[:_MOST_PARTS] if isinstance(inner, list) else []

    def _read_parts(
        self, schema: JSONObject, inlined: JSONObject, depth: int, above: tuple[str, ...]
    ) -> None:
        properties = _mapping(schema.get("properties"))
        if properties:
            inner_properties = {
                str(name): self._read(subschema, depth - 1, above)
                for name, subschema in properties.items()
                if not self._is_hidden(subschema)
            }
            inlined["properties"] = inner_properties
            inlined.setdefault("type", "object")
            if required := [
                name for name in _names(schema.get("required")) if name in inner_properties
            ]:
                inlined["required"] = required
        if properties:
            self._add_variants(schema, inlined["properties"], depth, above)
        extra = schema.get("additionalProperties")
        if extra is True:
            inlined["additionalProperties"] = True
        if isinstance(extra, dict) and extra:
            inlined["additionalProperties"] = self._read(extra, depth - 1, above)
        if isinstance(schema.get("items"), dict):
            inlined["items"] = self._read(schema["items"], depth - 1, above)
        for key in ("oneOf", "anyOf"):
            parts = schema.get(key)
            if isinstance(parts, list) and parts and "properties" not in inlined:
                # An API often offers `oneOf` where several fit: `anyOf` refuses no good call.
                read_parts = [
                    self._read(subschema, depth - 1, above) for subschema in parts[:_MOST_CHOICES]
                ]
                if len(parts) <= _MOST_CHOICES and all(read_parts):
                    inlined["anyOf"] = read_parts

    def _add_variants(
        self, schema: JSONObject, properties: JSONObject, depth: int, above: tuple[str, ...]
    ) -> None:
        """Add the fields that only some variants of an object have, none of them required."""
        mapping = _mapping(_mapping(schema.get("discriminator")).get("mapping"))
        references = (
            target if "/" in target else f"#/components/schemas/{target}"
            for target in mapping.values()
            if isinstance(target, str)
        )
        variants = [
            *(
                part
                for parts in (schema.get("oneOf"), schema.get("anyOf"))
                if isinstance(parts, list)
                for part in parts
            ),
            *({"$ref": reference} for reference in references),
        ]
        for variant in variants[:_MOST_PARTS]:
            part = self._document.resolve(variant)
            fields = self._merged(part).get("properties") if isinstance(part, dict) else None
            for name, subschema in _mapping(fields).items():
                if name not in properties and not self._is_hidden(subschema):
                    properties[str(name)] = self._read(subschema, depth - 1, above)

    def _is_hidden(self, schema: Any) -> bool:
        plain = self._document.resolve(schema)
        only = "readOnly" if self._writing else "writeOnly"
        return isinstance(plain, dict) and plain.get(only) is True


def plain_text(value: Any, most: int) -> str:
    """Return a text without HTML, cut at a number of characters."""
    text = value if isinstance(value, str) else ""
    if "<" in text:
        text = html.unescape(nh3.clean(text[: 4 * most], tags=set()))
    text = text.strip()
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _plain(schema: JSONObject) -> JSONObject:
    """Return the keywords that need no reading, in the form of JSON Schema 2020-12."""
    keywords: JSONObject = {}
    kind = schema.get("type")
    if isinstance(kind, str) and kind not in _TYPES:
        plain_kind = kind.strip().lower()
        schema = {**schema, "type": _MEANT_TYPES.get(plain_kind, plain_kind)}
    if schema.get("type") == "file":
        schema = {**schema, "type": "string", "format": "binary"}
    for key in _PLAIN:
        if key in schema and _is_usable(key, schema[key]):
            keywords[key] = schema[key]
    media = schema.get("contentMediaType")
    is_media = isinstance(media, str) and "json" not in media and "contentEncoding" not in schema
    if is_media and keywords.get("type") == "string":
        keywords["format"] = "binary"  # in the words of versions 3.1 and later
    # Version 3.0 has a flag beside the bound, where JSON Schema has the bound itself.
    for flag, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(keywords.get(flag), bool):
            exclusive = keywords.pop(flag)
            if exclusive and bound in keywords:
                keywords[flag] = keywords.pop(bound)
    values = schema.get("enum")
    if isinstance(values, list) and 0 < len(values) <= _MOST_VALUES:
        keywords["enum"] = list(values)
        if keywords.get("type") == "string":  # YAML reads `on` and `1` as no texts
            keywords["enum"] = [
                value if isinstance(value, str) or value is None else canonical_json(value)
                for value in values
            ]
    if True in (schema.get("nullable"), schema.get("x-nullable")) and isinstance(
        keywords.get("type"), str
    ):
        keywords["type"] = [keywords["type"], "null"]
        if "enum" in keywords and None not in keywords["enum"]:
            keywords["enum"] = [*keywords["enum"], None]
    return _described(keywords, schema)


def _described(keywords: JSONObject, schema: JSONObject) -> JSONObject:
    text = plain_text(schema.get("description"), _LONGEST_TEXT) or plain_text(
        schema.get("title"), _LONGEST_TEXT
    )
    if text and (schema.get("description") or "description" not in keywords):
        return {**keywords, "description": text}
    return keywords


def _is_usable(key: str, value: Any) -> bool:
    """Return True unless the keyword would make the whole schema invalid."""
    if key == "type":
        several = value if isinstance(value, list) else [value]
        return bool(several) and all(
            isinstance(type_name, str) and type_name in _TYPES for type_name in several
        )
    if key in _WHOLE_NUMBERS:
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if key in ("minimum", "maximum"):
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if key in ("exclusiveMinimum", "exclusiveMaximum"):
        return isinstance(value, (int, float))
    if key == "multipleOf":
        return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0
    if key == "uniqueItems":
        return isinstance(value, bool)
    return key != "format" or isinstance(value, str)


def _mapping(value: Any) -> JSONObject:
    return value if isinstance(value, dict) else {}


def _names(value: Any) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []

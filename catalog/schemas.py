"""Shorter notations of JSON schemas: pure functions, from any JSON to JSON.

`compact` yields a JSON schema that accepts the same values; `micro` is a notation of its own, few
characters, enough for a model to build a call. Input may be malformed: whatever is no schema stays
unchanged.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from catalog.formats.descriptors import JSONObject, canonical_json
from catalog.formats.usable_schema import REFERENCES, parse_pointer

# Positions of subschemas in a JSON schema.
#
# `description` may be a keyword or the name of an argument; only its position tells.

# Keywords holding one schema; in older drafts `items` may also hold a list.
ONE = frozenset(
    {
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
SEVERAL = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
NAMED = frozenset(
    {
        "$defs",
        "definitions",
        "dependencies",
        "dependentSchemas",
        "patternProperties",
        "properties",
    }
)


def find_keywords(reference: str) -> set[str]:
    """Return the keywords a reference passes through, wherever it starts.

    Property names do not count, and neither does anything below a keyword's value.
    """
    keywords = set()
    steps = parse_pointer(reference)
    place = 0
    while place < len(steps):
        keyword = steps[place]
        keywords.add(keyword)
        if keyword not in NAMED | SEVERAL | ONE:
            break
        # True if a name or an index follows the keyword.
        following = steps[place + 1 : place + 2]
        place += (
            2
            if (
                following != [] and following[0].isdigit()
                if keyword == "items"
                else keyword not in ONE
            )
            else 1
        )
    return keywords


def find_references(value: Any) -> Iterator[str]:
    """Yield every reference below the value, without recursion."""
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, dict):
            yield from (inner[name] for name in REFERENCES if isinstance(inner.get(name), str))
            waiting.extend(inner.values())
        elif isinstance(inner, list):
            waiting.extend(inner)


# Deeper than any stored schema; deeper parts stay unchanged.
MAX_DEPTH = 40
# The type each keyword must have. A value of another type may be a misplaced argument, and stays.
_ANNOTATIONS: dict[str, Callable[[Any], bool]] = {
    "$comment": lambda value: isinstance(value, str),
    "$schema": lambda value: isinstance(value, str),
    "description": lambda value: isinstance(value, str),
    "title": lambda value: isinstance(value, str),
    "examples": lambda value: isinstance(value, list),
    "example": lambda value: not isinstance(value, dict),
}


def compact(schema: Any) -> Any:
    """Remove descriptions, titles, examples, comments and `$schema`."""
    # A `$ref` may lead through one of these keywords: then the keyword stays everywhere.
    referenced = {
        word for reference in find_references(schema) for word in find_keywords(reference)
    }
    return _strip(schema, _ANNOTATIONS.keys() - referenced, MAX_DEPTH)


def _strip(schema: Any, words: set[str], depth: int) -> Any:
    if not isinstance(schema, dict) or not depth:
        return schema
    return {
        name: _strip_value(name, value, words, depth - 1)
        for name, value in schema.items()
        if not (name in words and _ANNOTATIONS[name](value))
    }


def _strip_value(keyword: str, value: Any, words: set[str], depth: int) -> Any:
    if isinstance(value, dict) and keyword in NAMED:
        return {name: _strip(inner, words, depth) for name, inner in value.items()}
    if isinstance(value, list) and keyword in SEVERAL:
        return [_strip(inner, words, depth) for inner in value]
    return _strip(value, words, depth) if keyword in ONE else value


_MOST = 60


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a capability."""

    name: str
    type: str
    required: bool
    description: str
    choices: tuple[str, ...]
    default: str


def list_parameters(schema: dict[str, Any] | None) -> list[Parameter]:
    """Return up to 60 parameters in the author's order; malformed parts are skipped."""
    properties = (schema or {}).get("properties")
    if not isinstance(properties, dict):
        return []
    required = (schema or {}).get("required")
    needed = required if isinstance(required, list) else []
    first = [name for name in needed if isinstance(name, str) and name in properties]
    # Only where there are too many, required ones take the places of others.
    included = set(list(dict.fromkeys([*first, *properties]))[:_MOST])
    names = [name for name in properties if name in included]
    return [_parameter(name, properties[name], required=name in first) for name in names]


def _parameter(name: str, schema: Any, *, required: bool) -> Parameter:
    inner = schema if isinstance(schema, dict) else {}
    choices = inner.get("enum")
    return Parameter(
        name=name,
        type=_type(inner),
        required=required,
        description=str(inner.get("description", "")),
        choices=tuple(str(choice) for choice in choices) if isinstance(choices, list) else (),
        default=_plain(inner["default"]) if inner.get("default") is not None else "",
    )


def _type(inner: dict[str, Any]) -> str:
    """Return the type in words: `list of string`, `string or number`, `any`."""
    branches = inner.get("anyOf") or inner.get("oneOf")
    if isinstance(branches, list):
        return _either([_type(branch) for branch in branches if isinstance(branch, dict)])
    declared = inner.get("type")
    if isinstance(declared, list):
        return _either([str(part) for part in declared])
    if declared == "array":
        items = inner.get("items")
        return f"list of {_type(items)}" if isinstance(items, dict) and items else "list"
    if isinstance(inner.get("format"), str):
        return str(inner["format"])
    return str(declared) if declared else "any"


def _either(types: list[str]) -> str:
    return " or ".join(dict.fromkeys(part for part in types if part != "null")) or "any"


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# The micro notation: an object is `{"p": {name: …}, "r": [required names]}`. A type is a letter,
# alone if nothing else is known of a value: `s` string, `n` number, `i` integer, `b` boolean, `a`
# array, `o` object, `x` null, several as `s|x`. Next to the type `t`: `e` allowed values, `d` the
# default, `i` an array's items, `v` a map's values, `u` one of several forms, `l` all of several
# forms, `m` the number of omitted names or values. A type that begins with `#` is a definition in
# the outermost object's `$`; `#` alone is the root. An example is
# `{"p": {"to": "s", "copies": {"i": "s", "d": []}}, "r": ["to"]}`.
# Names and values are never abbreviated, since a model has to write them. Depth and list lengths
# are bounded, so the result is short even for a huge schema.
MICRO_DEPTH = 6
MOST_NAMES = 60
MOST_VALUES = 30
MOST_FORMS = 12
MOST_DEFINITIONS = 60
MOST_NODES = 600
LONGEST_VALUE = 80  # characters of a default or an allowed value
LONGEST_WORD = 80  # of an unknown type or a foreign reference
_LETTERS = {
    "string": "s",
    "number": "n",
    "integer": "i",
    "boolean": "b",
    "array": "a",
    "object": "o",
    "null": "x",
}
_DEFINITIONS = ("$defs", "definitions")
_STRUCTURE = frozenset("prvi")  # keys that a form must not replace


def micro(schema: Any) -> Any:
    """Rewrite a schema in micro notation; other values stay unchanged."""
    if not isinstance(schema, dict):
        return schema
    writer = _Writer(schema)
    whole = writer.write(schema, MICRO_DEPTH)
    definitions = writer.definitions()
    return (whole | {"$": definitions}) if definitions else whole


class _Writer:
    """Writes one schema, remembering the definitions it references."""

    def __init__(self, root: JSONObject) -> None:
        self._root = root
        self._named: dict[str, tuple[str, str]] = {}
        self._nodes = MOST_NODES

    def definitions(self) -> JSONObject:
        """Write every referenced definition once, so that recursive ones end."""
        short_forms: JSONObject = {}
        while waiting := [name for name in self._named if name not in short_forms]:
            keyword, key = self._named[waiting[0]]
            short_forms[waiting[0]] = self.short(self._root[keyword][key], MICRO_DEPTH)
        return short_forms

    def short(self, schema: Any, depth: int) -> Any:
        """Write a type as its letter if there is nothing else to say."""
        if not isinstance(schema, dict):
            return schema
        node = self.write(schema, depth)
        return node["t"] if node.keys() == {"t"} else node

    def write(self, schema: JSONObject, depth: int) -> JSONObject:
        """Write all that is known of one value."""
        # The node budget bounds wide schemas, as the depth bounds deep ones.
        self._nodes -= 1
        if depth <= 0 or self._nodes <= 0:
            return self._type(schema) or ({"t": "o"} if "properties" in schema else {})
        inner = self._object(schema, depth - 1) | self._array(schema, depth - 1)
        inner |= self._forms(schema, depth - 1) | _values(schema)
        kind = self._type(schema)
        is_object = {"p", "v"} & inner.keys() and kind.get("t") == "o"
        listed = "i" in inner and kind.get("t") == "a"
        return inner if is_object or listed else kind | inner

    def _type(self, schema: JSONObject) -> JSONObject:
        if isinstance(reference := schema.get("$ref"), str):
            return {"t": self._reference(reference)}
        declared = schema.get("type")
        if isinstance(declared, list):
            letters = [_letter(kind) for kind in declared[: len(_LETTERS)]]
            return {"t": "|".join(dict.fromkeys(letters))} if letters else {}
        return {"t": _letter(declared)} if isinstance(declared, str) else {}

    def _reference(self, reference: str) -> str:
        """Return `#` and a definition's name; other references as written."""
        match parse_pointer(reference):
            case [keyword, name] if self._is_definition(keyword, name):
                label = f"#{name}"
                place = self._named.setdefault(label, (keyword, name))
                return label if place == (keyword, name) else reference
        return reference[:LONGEST_WORD]

    def _is_definition(self, keyword: str, name: str) -> bool:
        definitions = self._root.get(keyword) if keyword in _DEFINITIONS else None
        room = f"#{name}" in self._named or len(self._named) < MOST_DEFINITIONS
        return isinstance(definitions, dict) and name in definitions and room

    def _object(self, schema: JSONObject, depth: int) -> JSONObject:
        node: JSONObject = {}
        properties, required = schema.get("properties"), _names(schema.get("required"))
        if isinstance(properties, dict) and properties:
            first = [name for name in required if name in properties]
            listed = list(dict.fromkeys([*first, *properties]))[:MOST_NAMES]
            node["p"] = {name: self.short(properties[name], depth) for name in listed}
            left_out = len(properties) - len(listed)
            node |= {"m": left_out} if left_out else {}
        if required:
            node["r"] = required[:MOST_NAMES]
        further = schema.get("additionalProperties")
        if isinstance(further, dict) and further:
            node["v"] = self.short(further, depth)
        return node

    def _array(self, schema: JSONObject, depth: int) -> JSONObject:
        places = schema.get("prefixItems")
        held = places if isinstance(places, list) else schema.get("items")
        if isinstance(held, list):
            return {"i": self._write_all(held, depth)} if held else {}
        return {"i": self.short(held, depth)} if isinstance(held, dict) and held else {}

    def _forms(self, schema: JSONObject, depth: int) -> JSONObject:
        node: JSONObject = {}
        for keyword, key in (("oneOf", "u"), ("anyOf", "u"), ("allOf", "l")):
            branches = schema.get(keyword)
            if isinstance(branches, list) and branches:
                node |= _merge_forms(
                    key, self._write_all(branches, depth), apart=schema.keys() != {keyword}
                )
        return node

    def _write_all(self, schemas: Sequence[Any], depth: int) -> list[Any]:
        return [self.short(schema, depth) for schema in schemas[:MOST_FORMS]]


def _merge_forms(key: str, forms: list[Any], *, apart: bool) -> JSONObject:
    """Merge forms into the value where possible.

    Forms that are only types become one type. A single form replaces the value itself, unless that
    has a structure of its own.
    """
    if forms == [{}] * len(forms):
        return {}
    if all(isinstance(form, str) for form in forms) and (key == "u" or len(forms) == 1):
        return {"t": "|".join(dict.fromkeys(forms))}
    alone = len(forms) == 1 and isinstance(forms[0], dict)
    clashing = apart and alone and not _STRUCTURE.isdisjoint(forms[0])
    return dict(forms[0]) if alone and not clashing else {key: forms}


def _values(schema: JSONObject) -> JSONObject:
    """Return the allowed values and the default, if short."""
    node: JSONObject = {}
    allowed = schema.get("enum")
    if isinstance(allowed, list) and allowed:
        short_values = [value for value in allowed[:MOST_VALUES] if _is_short(value)]
        node["e"] = short_values
        node |= {"m": len(allowed) - len(short_values)} if len(short_values) < len(allowed) else {}
    elif "const" in schema and _is_short(schema["const"]):
        node["e"] = [schema["const"]]
    if schema.get("default") is not None and _is_short(schema["default"]):
        node["d"] = schema["default"]
    return node


def _is_short(value: Any) -> bool:
    """Return True for a short value, without descending further than necessary."""
    if isinstance(value, (dict, list)):
        parts: Iterable[Any] = value.values() if isinstance(value, dict) else value
        flat = len(value) <= MOST_VALUES and not any(isinstance(p, (dict, list)) for p in parts)
        return flat and len(canonical_json(value)) <= LONGEST_VALUE
    return not isinstance(value, str) or len(value) <= LONGEST_VALUE


def _names(value: Any) -> list[str]:
    items = value if isinstance(value, list) else []
    return list(dict.fromkeys(name for name in items if isinstance(name, str)))


def _letter(kind: Any) -> str:
    return _LETTERS.get(kind, kind[:LONGEST_WORD]) if isinstance(kind, str) else "?"

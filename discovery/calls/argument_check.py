"""Check a call's arguments against the tool's schema.

Schema and arguments are untrusted: references are never fetched, and both are bounded, because a
few hundred bytes of schema can keep a validator busy for minutes.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, NoReturn

import jsonschema_rs

from acl.platform.strict_json import StrictJSONError, hint_at_names, parse_json, write_json
from catalog.formats.descriptors import JSONObject, canonical_json
from catalog.formats.entry import plain_key
from catalog.formats.usable_schema import REFERENCES, make_usable, parse_pointer

MOST_BYTES, DEEPEST = 100_000, 16
# Limit on schema evaluations. A hostile schema of 14 definitions, each naming the next one twice,
# needs 32,000 and takes over a second.
MOST_STEPS = 4_000
_MOST_OF_SCHEMA = 50  # parts that a schema of one value is composed of
LONGEST_REASON, MOST_DEFECTS = 200, 8

# Keywords whose subschemas apply to the same value, and those that apply to its parts.
_SAME_ONE = ("not", "if", "then", "else")
_SAME_SEVERAL = ("allOf", "anyOf", "oneOf", "dependentSchemas", "dependencies")
_INSIDE_ONE = (
    *("additionalItems", "additionalProperties", "contains", "items"),
    *("propertyNames", "unevaluatedItems", "unevaluatedProperties"),
)
_INSIDE_SEVERAL = ("items", "prefixItems", "properties", "patternProperties")


class ArgumentsRefusedError(Exception):
    """The arguments do not fit; `defects` are pairs of a path, or "", and a reason.

    A model corrects in its next attempt what it is told in this one, so all are named.
    """

    def __init__(self, argument: str, reason: str, *others: tuple[str, str]) -> None:
        self.defects = ((argument, reason), *others)
        super().__init__(" ".join(f"{path}: {why}" if path else why for path, why in self.defects))


def check_arguments(schema: JSONObject | None, arguments: Any) -> None:
    """Raise ArgumentsRefusedError unless the arguments fit; without a schema any object fits."""
    if not isinstance(arguments, dict):
        raise ArgumentsRefusedError("", "The arguments must be an object.")
    _check_size(arguments)
    if not schema:
        return
    _check_effort(schema)
    try:
        validator = _validator(schema)
    except (ValueError, jsonschema_rs.ReferencingError):  # a ValidationError is a ValueError
        # What an earlier release stored may have parts that no validator accepts.
        validator = _validator(make_usable(schema)[0])
    if validator.is_valid(arguments):
        return
    defects = {
        defect: None
        for error in islice(validator.iter_errors(arguments), MOST_DEFECTS)
        for defect in _defects_of(error, schema)
    }
    first, *others = list(defects)[:MOST_DEFECTS]
    raise ArgumentsRefusedError(*first, *others)


def _defects_of(error: Any, schema: JSONObject) -> Iterator[tuple[str, str]]:
    """Yield the path of each argument that an error is about, also of one that is missing."""
    kind, place = error.kind, [str(step) for step in error.instance_path]
    missing = getattr(kind, "property", None)
    if isinstance(missing, str):
        yield _shorten(".".join([*place, missing])), "It is required."
    elif unexpected := getattr(kind, "unexpected", None):
        # The arguments that a schema names at the top; deeper ones may be by reference.
        properties = schema.get("properties") if not place else None
        names = list(properties) if isinstance(properties, dict) else []
        for name in unexpected:
            yield (
                _shorten(".".join([*place, str(name)])),
                _shorten(f"There is no such argument{hint_at_names(str(name), names)}"),
            )
    else:
        yield _shorten(".".join(place)), _shorten(_sentence_of(kind, error.message))


def _sentence_of(kind: Any, message: str) -> str:
    """Return what is wrong. Of several shapes, each says why the value has not this one."""
    if isinstance(options := getattr(kind, "options", None), list):
        return f"It must be one of {', '.join(write_json(option) for option in options)}."
    errors = [shape[0] for shape in getattr(kind, "context", None) or () if shape]
    kinds = [error.kind for error in errors] or [kind]
    types = [getattr(of_shape, "types", ()) for of_shape in kinds]
    if all(types):
        names = dict.fromkeys(name for several in types for name in several)
        return f"It must be of type {' or '.join(names)}."
    text = " and ".join(dict.fromkeys(error.message for error in errors)) or message
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 1] + "…"


def read_arguments(schema: JSONObject | None, arguments: Any) -> Any:
    """Return the arguments as they are meant, of models and clients that write them a little off.

    An optional one that is null is left out where its schema allows none: clients in strict mode
    write every argument. A required one that is missing has its default. A text is the JSON, the
    number or the flag that it has, or nothing, where its schema names another type and no text;
    of a list, the one value. A choice may be in other letters, a name in another style, and all in
    one wrapper. The one place that reads them so: what is checked, approved, stored and sent is
    what this returns.
    """
    if isinstance(arguments, str):
        try:
            arguments = parse_json(arguments or "{}", max_depth=DEEPEST)
        except StrictJSONError:
            return arguments
    if not isinstance(arguments, dict) or not isinstance(schema, dict):
        return arguments
    fields = _fields_of(schema)
    for name, inner in arguments.items() if len(arguments) == 1 and fields else ():
        is_wrapper = name in _WRAPPERS and name not in fields and isinstance(inner, dict)
        arguments = inner if is_wrapper and set(inner) <= set(fields) else arguments
    if not arguments and not _missing([schema], arguments):
        return arguments
    _check_size(arguments)
    _check_effort(schema)
    return _Meant(schema).value(schema, arguments, DEEPEST)


_NUMBER = re.compile(r"-?(?=\.?\d)(?:0|[1-9]\d{0,14})?((?:\.\d{1,15})?(?:[eE][-+]?\d{1,2})?)")
_FLAGS = {"true": True, "false": False}
_NOTHING = frozenset({"", "null", "none"})
_SEVERAL = re.compile(r"[,\n]|\A\s*+[\[{]")  # more than one value, or another one
_WRAPPERS = frozenset({"arguments", "args", "input", "params", "parameters", "kwargs"})
_COMPOSED = ("allOf", "anyOf", "oneOf")


class _Meant:
    """Values as one schema means them, its references followed."""

    def __init__(self, root: JSONObject) -> None:
        self._effort = _Effort(root)
        self._definitions: JSONObject = {
            key: root[key] for key in ("$defs", "definitions") if key in root
        }

    def value(self, schema: Any, value: Any, depth: int) -> Any:
        """Return a value as its schema means it."""
        parts = self._parts(schema) if depth > 0 else []
        if isinstance(value, str):
            value = self._not_text(parts, value)
        if not parts:
            return value
        types = {str(part.get("type")) for part in parts if "type" in part}
        is_one = isinstance(value, (str, int, float)) and not _SEVERAL.search(str(value))
        if types == {"array"} and is_one:
            value = [value]
        if isinstance(value, dict):
            return self._object(parts, value, depth)
        items = next((part["items"] for part in parts if isinstance(part.get("items"), dict)), None)
        if isinstance(value, list) and items is not None:
            return [self.value(items, item, depth - 1) for item in value]
        return value

    def _parts(self, schema: Any) -> list[JSONObject]:
        """Return a schema and what it is composed of, each once."""
        parts: list[JSONObject] = []
        waiting = [schema]
        while waiting and len(parts) < _MOST_OF_SCHEMA:
            part = waiting.pop(0)
            if not isinstance(part, dict) or any(part is earlier for earlier in parts):
                continue
            parts.append(part)
            # `_check_effort` has refused what leads out of the schema.
            waiting += [self._effort.target(part[name]) for name in REFERENCES if name in part]
            for key in _COMPOSED:
                waiting += part[key] if isinstance(part.get(key), list) else []
        return parts

    def _object(self, parts: list[JSONObject], value: JSONObject, depth: int) -> JSONObject:
        result: JSONObject = {}
        declared = dict.fromkeys(name for part in parts for name in _fields_of(part))
        for name, inner in value.items():
            if name not in declared:  # in another style: `user_id` for `userId`
                alike = [key for key in declared if plain_key(key) == plain_key(name)]
                name = alike[0] if len(alike) == 1 and alike[0] not in value else name
            schemas = [
                part["properties"][name]
                for part in parts
                if isinstance(part.get("properties"), dict) and name in part["properties"]
            ]
            is_needed = any(
                isinstance(part.get("required"), list) and name in part["required"]
                for part in parts
            )
            takes_null = not schemas or any(_takes_null(s, self._definitions) for s in schemas)
            reading = self.value(schemas[0], inner, depth - 1) if schemas else inner
            if reading is None and not is_needed and not takes_null:
                continue
            result[name] = reading
        # What is required and has a default was left out as what everybody knows.
        for name in _missing(parts, result):
            for part in parts:
                field = _fields_of(part).get(name)
                if isinstance(field, dict) and "default" in field:
                    result.setdefault(name, field["default"])
        return result

    @staticmethod
    def _not_text(parts: list[JSONObject], text: str) -> Any:
        """Return what a text has where no part takes a text; the text itself otherwise."""
        types: set[str] = set()
        for part in parts:
            of_part = part.get("type", [])
            types |= set(of_part) if isinstance(of_part, list) else {str(of_part)}
            if isinstance(options := part.get("enum"), list) and options:
                return _choice(options, text)
            if "const" in part:
                return text
        if not types or "string" in types:
            return text
        plain = text.strip()
        if plain.lower() in _NOTHING:
            return None
        if "boolean" in types and (flag := _FLAGS.get(plain.lower())) is not None:
            return flag
        if types & {"integer", "number"} and (match := _NUMBER.fullmatch(plain)):
            number = float(plain) if match[1] else int(plain)
            is_whole = "e" not in plain.lower() and number == int(number)
            is_fitting = "number" in types or is_whole
            number = int(number) if is_whole and "number" not in types else number
            return number if is_fitting else text
        if plain[:1] in ("{", "["):
            try:
                parsed = parse_json(plain, max_depth=DEEPEST)
            except StrictJSONError:
                return text
            kind = "object" if isinstance(parsed, dict) else "array"
            return parsed if kind in types else text
        return text


def _choice(options: list[Any], text: str) -> Any:
    """Return the option that a text names in other letters, or as a text; else the text itself."""
    if text in options:
        return text
    plain = text.strip().casefold()
    alike = [option for option in options if str(option).casefold() == plain]
    if len(alike) == 1 and not isinstance(alike[0], (dict, list)):
        return alike[0]
    return None if plain in _NOTHING else text


def _fields_of(schema: JSONObject) -> JSONObject:
    fields = schema.get("properties")
    return fields if isinstance(fields, dict) else {}


def _missing(parts: list[JSONObject], value: JSONObject) -> list[str]:
    """Return the names that the parts of a schema require and a value does not have."""
    required = [part["required"] for part in parts if isinstance(part.get("required"), list)]
    return [name for names in required for name in names if str(name) not in value]


def _takes_null(schema: Any, definitions: JSONObject) -> bool:
    if not isinstance(schema, dict):
        return schema is not False
    whole = {**definitions, "allOf": [schema]}
    try:
        return _validator(whole).is_valid(None)
    except (ValueError, jsonschema_rs.ReferencingError):
        return _validator(make_usable(whole)[0]).is_valid(None)


def _validator(schema: JSONObject) -> jsonschema_rs.Validator:
    # Error messages say "it" in place of the value, which may be long or confidential.
    return jsonschema_rs.validator_for(schema, retriever=_refuse, mask="it")


def _check_size(arguments: JSONObject) -> None:
    if any(depth > DEEPEST for depth in _depths(arguments)):
        raise ArgumentsRefusedError("", f"The arguments are nested deeper than {DEEPEST} levels.")
    if len(canonical_json(arguments).encode()) > MOST_BYTES:
        raise ArgumentsRefusedError("", f"The arguments are larger than {MOST_BYTES:,} bytes.")


def _depths(value: Any) -> Iterator[int]:
    """Yield the depth of each part, without recursion; stops one level below the limit."""
    waiting = [(value, 1)]
    while waiting:
        inner, depth = waiting.pop()
        yield depth
        if depth <= DEEPEST and isinstance(inner, dict | list):
            parts = inner.values() if isinstance(inner, dict) else inner
            waiting.extend((part, depth + 1) for part in parts)


def _check_effort(schema: JSONObject) -> None:
    try:
        steps = _Effort(schema).of(schema, DEEPEST)
    except RecursionError:
        steps = MOST_STEPS
    except LookupError:
        raise ArgumentsRefusedError(
            "", "The tool's own schema refers to something outside of it."
        ) from None
    if steps >= MOST_STEPS:
        raise ArgumentsRefusedError("", "The tool's own schema is too complex to check a call.")


class _Effort:
    """An upper bound of the schema evaluations for a value of some depth. It follows references,
    which is how a short schema makes a long check."""

    def __init__(self, root: JSONObject) -> None:
        self._root = root
        self._known: dict[tuple[int, int], int] = {}

    def of(self, schema: Any, depth: int) -> int:
        """Count the evaluations from this schema on, up to `MOST_STEPS`."""
        if not isinstance(schema, dict) or depth == 0:
            return 1
        key = (id(schema), depth)
        if key not in self._known:
            self._known[key] = 1  # a schema that refers back to itself; the validator detects those
            same = sum(self.of(part, depth) for part in self._same_value_parts(schema))
            inside = sum(self.of(part, depth - 1) for part in _inner_parts(schema))
            self._known[key] = min(MOST_STEPS, 1 + same + inside)
        return self._known[key]

    def _same_value_parts(self, schema: JSONObject) -> Iterator[Any]:
        yield from (self.target(schema[name]) for name in REFERENCES if name in schema)
        yield from (schema[name] for name in _SAME_ONE if name in schema)
        for name in _SAME_SEVERAL:
            yield from _each(schema.get(name))

    def target(self, reference: Any) -> Any:
        """Resolve a reference; raise LookupError if it points outside of the schema."""
        if not isinstance(reference, str) or reference[:2] not in {"#", "#/"}:
            raise LookupError(reference)
        target: Any = self._root
        try:
            for step in parse_pointer(reference):
                target = target[int(step) if isinstance(target, list) else step]
        except (TypeError, ValueError) as odd:  # into a text, or by a word into a list
            raise LookupError(reference) from odd
        return target


def _inner_parts(schema: JSONObject) -> Iterator[Any]:
    yield from (schema[name] for name in _INSIDE_ONE if isinstance(schema.get(name), dict))
    for name in _INSIDE_SEVERAL:
        yield from _each(schema.get(name))


def _each(schemas: Any) -> Iterator[Any]:
    if isinstance(schemas, dict | list):
        yield from schemas.values() if isinstance(schemas, dict) else schemas


def _refuse(reference: str) -> NoReturn:
    raise ValueError("references are not followed")

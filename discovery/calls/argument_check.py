"""Check a call's arguments against the tool's schema.

Schema and arguments are untrusted: references are never fetched, and both are bounded, because a
few hundred bytes of schema can keep a validator busy for minutes.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any, NoReturn

import jsonschema_rs

from acl.platform.strict_json import hint_at_names, write_json
from catalog.formats.descriptors import JSONObject, canonical_json
from catalog.formats.usable_schema import REFERENCES, make_usable, parse_pointer

MOST_BYTES, DEEPEST = 100_000, 16
# Limit on schema evaluations. A hostile schema of 14 definitions, each naming the next one twice,
# needs 32,000 and takes over a second.
MOST_STEPS = 4_000
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
        names = _names_at(schema, place)
        for name in unexpected:
            yield (
                _shorten(".".join([*place, str(name)])),
                _shorten(f"There is no such argument{hint_at_names(str(name), names)}"),
            )
    else:
        yield _shorten(".".join(place)), _shorten(_sentence_of(kind, error.message))


def _names_at(schema: JSONObject, place: list[str]) -> list[str]:
    """Return the arguments that a schema names at the top; deeper ones may be by reference."""
    properties = schema.get("properties") if not place else None
    return list(properties) if isinstance(properties, dict) else []


def _sentence_of(kind: Any, message: str) -> str:
    """Return what is wrong. Of several shapes, each says why the value has not this one."""
    if isinstance(options := getattr(kind, "options", None), list):
        return f"It must be one of {', '.join(write_json(option) for option in options)}."
    errors = [shape[0] for shape in getattr(kind, "context", None) or () if shape]
    types = [getattr(each, "types", None) for each in [kind, *(error.kind for error in errors)]]
    if all(types if not errors else types[1:]):
        names = dict.fromkeys(name for each in types for name in each or ())
        return f"It must be of type {' or '.join(names)}."
    text = " and ".join(dict.fromkeys(error.message for error in errors)) or message
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 1] + "…"


def leave_out_nulls(schema: JSONObject | None, arguments: Any) -> Any:
    """Return the arguments without each optional one that is null where its schema allows none.

    Clients in strict mode write every argument, and `null` for those that the model left out. The
    one place that reads them so: what is checked, approved, stored and sent is what this returns.
    """
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(arguments, dict) or not isinstance(properties, dict) or schema is None:
        return arguments
    if not any(value is None or isinstance(value, dict) for value in arguments.values()):
        return arguments
    _check_size(arguments)
    _check_effort(schema)
    definitions: JSONObject = {
        key: schema[key] for key in ("$defs", "definitions") if key in schema
    }
    return _without_nulls(schema, arguments, definitions)


def _without_nulls(schema: Any, arguments: JSONObject, definitions: JSONObject) -> JSONObject:
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict):
        return arguments
    result: JSONObject = {}
    for name, value in arguments.items():
        of_argument = properties.get(name)
        is_needed = isinstance(required, list) and name in required
        if isinstance(value, dict) and isinstance(of_argument, dict):
            result[name] = _without_nulls(of_argument, value, definitions)
        elif value is not None or is_needed or _takes_null(of_argument, definitions):
            result[name] = value
    return result


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
        yield from (self._target(schema[name]) for name in REFERENCES if name in schema)
        yield from (schema[name] for name in _SAME_ONE if name in schema)
        for name in _SAME_SEVERAL:
            yield from _each(schema.get(name))

    def _target(self, reference: Any) -> Any:
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

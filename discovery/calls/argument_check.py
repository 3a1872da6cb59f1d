"""Checks the arguments of a call by the tool's schema.

The schema comes from outside, as do the arguments: nothing that it names is fetched, and both are
bounded, because a few hundred bytes of schema can keep a validator busy for minutes.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any, NoReturn

import jsonschema_rs

from catalog.formats.descriptors import JSONObject, canonical_json
from catalog.schemas.positions import REFERENCES, parse_pointer

MOST_BYTES, DEEPEST = 100_000, 16
# A hostile schema of 14 definitions, each naming the next twice, takes 32,000 and over a second.
MOST_STEPS = 4_000
LONGEST_REASON = 200

# Keywords whose schemas look at the same value, and those that look at values inside of it.
_SAME_ONE = ("not", "if", "then", "else")
_SAME_SEVERAL = ("allOf", "anyOf", "oneOf", "dependentSchemas", "dependencies")
_INSIDE_ONE = (
    *("additionalItems", "additionalProperties", "contains", "items"),
    *("propertyNames", "unevaluatedItems", "unevaluatedProperties"),
)
_INSIDE_SEVERAL = ("items", "prefixItems", "properties", "patternProperties")


class ArgumentsRefusedError(Exception):
    """The arguments do not fit; `argument` is the path of the first that does not, if it is one."""

    def __init__(self, argument: str, reason: str) -> None:
        super().__init__(f"{argument}: {reason}" if argument else reason)
        self.argument = argument
        self.reason = reason


def check_arguments(schema: JSONObject | None, arguments: Any) -> None:
    """Raise ArgumentsRefusedError unless the arguments fit; without a schema any object does."""
    if not isinstance(arguments, dict):
        raise ArgumentsRefusedError("", "The arguments must be an object.")
    _check_size(arguments)
    if not schema:
        return
    _check_effort(schema)
    try:
        # Reasons speak of "it": the value may be long, or nobody's business.
        validator = jsonschema_rs.validator_for(schema, retriever=_refuse, mask="it")
    except (ValueError, jsonschema_rs.ReferencingError):  # a ValidationError is a ValueError
        raise ArgumentsRefusedError("", "The tool's own schema is not valid.") from None
    if validator.is_valid(arguments):
        return
    for error in islice(validator.iter_errors(arguments), 1):
        raise ArgumentsRefusedError(_argument_of(error), _shortened(error.message))


def _check_size(arguments: JSONObject) -> None:
    if any(depth > DEEPEST for depth in _depths(arguments)):
        raise ArgumentsRefusedError("", f"The arguments are nested deeper than {DEEPEST} levels.")
    if len(canonical_json(arguments).encode()) > MOST_BYTES:
        raise ArgumentsRefusedError("", f"The arguments are larger than {MOST_BYTES:,} bytes.")


def _depths(value: Any) -> Iterator[int]:
    """How deep each part is. Walks without recursion, and one level deeper than is allowed."""
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
        raise ArgumentsRefusedError("", "The tool's own schema is too entangled to check a call.")


class _Effort:
    """At most how many schemas a value meets that is so deep. References are followed, which is
    where a short schema becomes a long check."""

    def __init__(self, root: JSONObject) -> None:
        self._root = root
        self._known: dict[tuple[int, int], int] = {}

    def of(self, schema: Any, depth: int) -> int:
        """The steps from here on, counted up to `MOST_STEPS`."""
        if not isinstance(schema, dict) or depth == 0:
            return 1
        key = (id(schema), depth)
        if key not in self._known:
            self._known[key] = 1  # what leads back to itself is found out by the validator
            same = sum(self.of(part, depth) for part in self._of_the_same(schema))
            inside = sum(self.of(part, depth - 1) for part in _of_parts(schema))
            self._known[key] = min(MOST_STEPS, 1 + same + inside)
        return self._known[key]

    def _of_the_same(self, schema: JSONObject) -> Iterator[Any]:
        yield from (self._target(schema[name]) for name in REFERENCES if name in schema)
        yield from (schema[name] for name in _SAME_ONE if name in schema)
        for name in _SAME_SEVERAL:
            yield from _each(schema.get(name))

    def _target(self, reference: Any) -> Any:
        """What the reference names; LookupError where that is not in the schema itself."""
        if not isinstance(reference, str) or reference[:2] not in {"#", "#/"}:
            raise LookupError(reference)
        found: Any = self._root
        for step in parse_pointer(reference):
            found = found[int(step) if isinstance(found, list) else step]
        return found


def _of_parts(schema: JSONObject) -> Iterator[Any]:
    yield from (schema[name] for name in _INSIDE_ONE if isinstance(schema.get(name), dict))
    for name in _INSIDE_SEVERAL:
        yield from _each(schema.get(name))


def _each(schemas: Any) -> Iterator[Any]:
    if isinstance(schemas, dict | list):
        yield from schemas.values() if isinstance(schemas, dict) else schemas


def _argument_of(error: jsonschema_rs.ValidationError) -> str:
    """The path of the argument, also where the trouble is that it is missing or unknown."""
    missing = getattr(error.kind, "property", None)
    unexpected = getattr(error.kind, "unexpected", None) or ()
    last = [missing] if isinstance(missing, str) else [*unexpected][:1]
    return ".".join(str(step) for step in (*error.instance_path, *last))[:LONGEST_REASON]


def _shortened(message: str) -> str:
    return message if len(message) <= LONGEST_REASON else message[: LONGEST_REASON - 1] + "…"


def _refuse(reference: str) -> NoReturn:
    raise ValueError("references are not followed")

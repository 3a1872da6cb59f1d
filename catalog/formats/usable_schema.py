"""Schemas cleaned, bounded, and left with the parts that a validator can use."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, NamedTuple, NoReturn
from urllib.parse import unquote

import jsonschema_rs

from catalog.formats.descriptors import JSONObject, canonical_json
from catalog.formats.entry import Entry
from catalog.formats.files import Limits, RefusedError

# Schemas as a validator can use them: a part that is no JSON schema is left out, and named.
#
# Pure. Servers write `properties: null`, `required: true`, patterns of other languages, and
# references to nothing. None of these refuses the tool: without that part more arguments fit, and
# the server checks them itself.

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
# Beyond so many faults a schema says nothing that could be relied on.
MOST_REPAIRS = 100
_LONGEST_REASON = 160
# Names of types that programming languages have, as people write them into schemas.
_MEANT = {
    **dict.fromkeys(("float", "double", "decimal"), "number"),
    **dict.fromkeys(("int", "long"), "integer"),
    **dict.fromkeys(("bool",), "boolean"),
    **dict.fromkeys(("str", "text"), "string"),
    **dict.fromkeys(("dict", "map", "json"), "object"),
    **dict.fromkeys(("list", "tuple"), "array"),
}


class Repair(NamedTuple):
    """A repaired part of a schema: its path, and the reason."""

    path: str
    reason: str


def make_usable(schema: JSONObject) -> tuple[JSONObject, list[Repair]]:
    """Return the schema without the parts that no validator accepts, and those parts.

    The schema itself is returned if a validator accepts it. It must be within the limits of size.
    """
    if _fault(schema) is None and not has_dangling_reference(schema):
        return schema, []
    usable, repairs = deepcopy(schema), list[Repair]()
    for holder, name, reference in list(_dangling(usable)):
        holder.pop(name, None)
        repairs.append(Repair(name, f"refers to {str(reference)[:80]!r}, which is not there"))
    for attempt in range(MOST_REPAIRS + 1):
        if (fault := _fault(usable)) is None:
            break
        path = fault.path
        if not path and "$schema" in usable:  # a dialect that nobody here has
            path = ["$schema"]
        if not path or attempt == MOST_REPAIRS:
            reason = "is no JSON schema that can be checked; read as an object"
            return {"type": "object"}, [*repairs, Repair("", reason)]
        place = ".".join(map(str, path))
        # `null` is how some libraries write what is absent: no fault that anyone could mend.
        if _at(usable, path) is not None and (not repairs or repairs[-1].path != place):
            reason = fault.message[:_LONGEST_REASON]
            repairs.append(Repair(place, f"is no valid part of a schema: {reason}"))
        _mend(usable, path)
    return usable, repairs


def parse_pointer(reference: str) -> list[str]:
    """Return the steps of a reference's fragment: `#/$defs/a~1b` gives `$defs` and `a/b`."""
    _, _, fragment = reference.partition("#")
    if not fragment.startswith("/"):
        return []
    steps = unquote(fragment).split("/")[1:]
    return [step.replace("~1", "/").replace("~0", "~") for step in steps]


def has_dangling_reference(schema: JSONObject) -> bool:
    """Return True if a reference leads out of the schema, or to nothing in it."""
    return any(True for _ in _dangling(schema))


class _Fault(NamedTuple):
    path: list[str | int]
    message: str


def _fault(schema: JSONObject) -> _Fault | None:
    try:
        jsonschema_rs.validator_for(schema, retriever=_refuse, mask="it")
    except jsonschema_rs.ValidationError as fault:
        return _Fault(list(fault.instance_path), fault.message)
    except (ValueError, jsonschema_rs.ReferencingError):
        return _Fault([], "it cannot be read")
    return None


def _dangling(schema: JSONObject) -> Iterator[tuple[JSONObject, str, Any]]:
    """Yield each mapping with such a reference, its keyword, and the reference."""
    waiting: list[Any] = [schema]
    anchors = set(_anchors(schema))
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, dict):
            for name in REFERENCES:
                reference = inner.get(name)
                # A mapping of arguments may have one that is called `$ref`.
                if isinstance(reference, str) and not _resolves(schema, reference, anchors):
                    yield inner, name, reference
            waiting.extend(inner.values())
        elif isinstance(inner, list):
            waiting.extend(inner)


def _anchors(schema: JSONObject) -> Iterator[str]:
    """Yield the names by which parts of the schema can be referred to."""
    waiting: list[Any] = [schema]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, dict):
            names = (inner.get(key) for key in ("$anchor", "$dynamicAnchor", "$id", "id"))
            yield from (name for name in names if isinstance(name, str))
            waiting.extend(inner.values())
        elif isinstance(inner, list):
            waiting.extend(inner)


def _resolves(schema: JSONObject, reference: str, anchors: set[str]) -> bool:
    if reference in ("#", ""):
        return True
    base, _, fragment = reference.partition("#")
    if base:
        return base in anchors
    if not fragment.startswith("/"):
        return fragment in anchors
    target: Any = schema
    try:
        for step in parse_pointer(reference):
            target = target[int(step) if isinstance(target, list) else step]
    except (KeyError, IndexError, TypeError, ValueError):
        return False
    return isinstance(target, dict | bool)


def _at(schema: JSONObject, path: list[str | int]) -> Any:
    value: Any = schema
    for step in path:
        value = value[step]
    return value


def _mend(schema: JSONObject, path: list[str | int]) -> None:
    """Put what is meant, or else what everything fits, at the path; remove what is no schema."""
    holder = _at(schema, path[:-1])
    type_name = _MEANT.get(str(holder[path[-1]]).lower()) if path[-1] == "type" else None
    if type_name is not None:
        holder["type"] = type_name
    elif holder[path[-1]] in ({}, None) and not isinstance(holder[path[-1]], bool):
        del holder[path[-1]]
    else:
        holder[path[-1]] = {}


def _refuse(reference: str) -> NoReturn:
    raise ValueError("references are not followed")


# Input and output schemas, cleaned and bounded on reading. References are not followed.


def read_schema(entry: Entry, *keys: str) -> JSONObject | None:
    """Return the schema under the first key present, or None."""
    value = entry.raw(*keys)
    if value is None:
        return None
    return check_schema(entry, entry.value(*keys), keys[0])


def read_input_schema(entry: Entry, *keys: str) -> JSONObject | None:
    """Return the schema of a tool's arguments, or None where any object fits.

    Arguments are always an object, so a schema of another type says nothing about them.
    """
    if entry.raw(*keys) is True:
        return None
    schema = read_schema(entry, *keys)
    types = schema.get("type", "object") if schema else "object"
    if types == "object" or (isinstance(types, list) and "object" in types):
        return schema
    reason = f"is {str(types)[:40]!r}; arguments are an object, so it is read as one"
    entry.report(f"{keys[0]}.type", reason)
    return {"type": "object"}


def read_output_schema(entry: Entry, key: str = "outputSchema") -> JSONObject | None:
    """Return the schema of a tool's results, or None if it cannot be used.

    The tool works without it, and a client that compiles it would refuse the whole list.
    """
    try:
        value = entry.value(key) if entry.raw(key) is not None else None
        if isinstance(value, dict) and has_dangling_reference(value):
            raise RefusedError("refers to a part that is not there", entry.place(key))
        return None if value is None else check_schema(entry, value, key)
    except RefusedError as refused:
        entry.document.report(refused.field, f"{refused.reason}; left out")
        return None


def check_schema(entry: Entry, value: Any, key: str) -> JSONObject:
    """Check a cleaned schema against the limits, or raise RefusedError.

    Parts that no validator accepts are left out, and reported.
    """
    if not isinstance(value, dict):
        raise RefusedError("must be a mapping (a JSON schema)", entry.place(key))
    reason = _limit_violation(value, entry.document.limits)
    if reason:
        raise RefusedError(reason, entry.place(key))
    usable, repairs = make_usable(value)
    for repair in repairs:
        entry.report(f"{key}.{repair.path}".rstrip("."), f"{repair.reason}; left out")
    return usable


def schema_from_arguments(entry: Entry, *keys: str) -> JSONObject | None:
    """Build a JSON schema from a list of `{name, type, desc, optional}`.

    Arguments are required by default.
    """
    if entry.raw(*keys) is None:
        return None
    arguments = [
        (argument.name("name", required=True), argument) for argument in entry.mappings(*keys)
    ]
    required = [name for name, argument in arguments if not _is_optional(argument)]
    properties = {name: _argument_schema(argument) for name, argument in arguments}
    schema: JSONObject = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(dict.fromkeys(required))
    return check_schema(entry, schema, keys[0])


def _is_optional(argument: Entry) -> bool:
    required = argument.flag("required")
    return argument.flag("optional") is True or required is False


def _argument_schema(argument: Entry) -> JSONObject:
    schema: JSONObject = {"type": argument.name("type") or "string"}
    if description := argument.text("desc", "description"):
        schema["description"] = description
    for key in ("items", "enum", "default"):
        if argument.raw(key) is not None:
            schema[key] = argument.value(key)
    return schema


def _limit_violation(schema: JSONObject, limits: Limits) -> str:
    """Return why the schema is too large, or "". Walks without recursion."""
    nodes = 0
    waiting: list[tuple[Any, int]] = [(schema, 1)]
    while waiting:
        value, depth = waiting.pop()
        nodes += 1
        if nodes > limits.schema_nodes:
            return f"has more than {limits.schema_nodes:,} nodes"
        if depth > limits.schema_depth:
            return f"is nested more than {limits.schema_depth} deep"
        inner = value.values() if isinstance(value, dict) else value
        waiting.extend((part, depth + 1) for part in inner if isinstance(part, (dict, list)))
    size = len(canonical_json(schema).encode())
    return f"has {size:,} bytes; the limit is {limits.schema:,}" if size > limits.schema else ""

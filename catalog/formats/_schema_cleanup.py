"""Input and output schemas, cleaned and bounded on reading. References are not followed."""

from typing import Any

from catalog.formats.descriptors import JSONObject, canonical_json
from catalog.formats.entry import Entry
from catalog.formats.files import RefusedError
from catalog.formats.read_limits import Limits
from catalog.formats.usable_schema import has_dangling_reference, make_usable


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

"""Input and output schemas, cleaned and bounded on reading. References are not followed."""

from typing import Any

from catalog.formats.descriptors import JSONObject, canonical_json
from catalog.formats.entry import Entry
from catalog.formats.files import RefusedError
from catalog.formats.read_limits import Limits


def read_schema(entry: Entry, *keys: str) -> JSONObject | None:
    """Return the schema under the first key present, or None."""
    value = entry.raw(*keys)
    if value is None:
        return None
    return check_schema(entry, entry.value(*keys), keys[0])


def check_schema(entry: Entry, value: Any, key: str) -> JSONObject:
    """Check a cleaned schema against the limits, or raise RefusedError."""
    if not isinstance(value, dict):
        raise RefusedError("must be a mapping (a JSON schema)", entry.place(key))
    reason = _limit_violation(value, entry.document.limits)
    if reason:
        raise RefusedError(reason, entry.place(key))
    return value


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

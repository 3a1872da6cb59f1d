"""Schemas as a validator can use them: a part that is no JSON schema is left out, and named.

Pure. Servers write `properties: null`, `required: true`, patterns of other languages, and
references to nothing. None of these refuses the tool: without that part more arguments fit, and
the server checks them itself.
"""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, NamedTuple, NoReturn
from urllib.parse import unquote

import jsonschema_rs

from catalog.formats.descriptors import JSONObject

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

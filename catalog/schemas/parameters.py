"""Parameters of a JSON schema as the rows of a table."""

from dataclasses import dataclass
from typing import Any

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

"""Descriptors: the common output of every format, and the input for storing the catalogue.

Plain values without a database. The same file always gives the same descriptors.
"""

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, TypeVar, get_origin

Kind = Literal["tool", "skill", "extension", "channel", "voice", "emergent-tool"]
IntegrationKind = Literal[
    "mcp", "openapi", "skill", "extension", "channel", "voice", "manifest", "builtin", "catalog"
]
Transport = Literal["", "stdio", "http", "sse", "openapi"]
SideEffect = Literal["read", "write", "delete"]
AIAccess = Literal["execute", "propose", "app", "blocked"]
JSONObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Defect:
    """An unreadable part of a source, and the reason. The rest of the source still loads."""

    file: str
    field: str
    reason: str
    line: int = dataclasses.field(default=0, kw_only=True)

    def __str__(self) -> str:
        place = f" (line {self.line:,})" if self.line else ""
        return f"{self.file}: {self.field}: {self.reason}{place}"


@dataclass(frozen=True, slots=True)
class ToolDefect(Defect):
    """A defect of one tool in a list: its name, or its place where it has none."""

    tool: str = ""

    def as_json(self) -> dict[str, str]:
        """Return the defect as it is stored and shown: by tool, field and reason."""
        field = self.field.removeprefix(self.tool).lstrip(".")
        return {"tool": self.tool, "field": field, "reason": self.reason}


class Renaming(Defect):
    """A new name for a stored entry."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class EdgeDescriptor:
    """A relation declared by a manifest; `target` is an id or a full name, `weight` is 0 to 1."""

    target: str
    type: str
    weight: float


@dataclass(frozen=True, slots=True)
class IntegrationDescriptor:
    """A provider of capabilities. `slug` matches ^[a-z0-9][a-z0-9_-]*$, at most 48 characters."""

    slug: str
    kind: IntegrationKind
    title: str
    description: str = ""
    publisher: str = ""
    version: str = ""
    transport: Transport = ""
    endpoint: str = ""
    command: tuple[str, ...] = ()
    required_secrets: tuple[str, ...] = ()
    homepage: str = ""
    licence: str = ""
    source_ref: JSONObject = field(default_factory=dict)


_NOT_DEFINITION = (
    *("source_ref", "hidden_characters", "available", "unavailable_reason"),
    "side_effect_inferred",
)


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A capability as declared by its source, cleaned and within the limits."""

    kind: Kind
    integration: str
    action: str
    full_name: str
    identifier: str
    display_name: str
    description: str
    category: str
    category_inferred: bool = False
    tags: tuple[str, ...] = ()
    input_schema: JSONObject | None = None
    output_schema: JSONObject | None = None
    content: str = ""
    examples: tuple[str, ...] = ()
    required_secrets: tuple[str, ...] = ()
    required_tools: tuple[str, ...] = ()
    side_effect: SideEffect = "read"
    # True if the source does not say: `catalog.effects` then works it out when it is stored.
    side_effect_inferred: bool = False
    ai_access: AIAccess = "execute"
    available: bool = True
    unavailable_reason: str = ""
    core: bool = False
    pinned: bool = False
    edges: tuple[EdgeDescriptor, ...] = ()
    annotations: JSONObject = field(default_factory=dict)
    source_ref: JSONObject = field(default_factory=dict)
    hidden_characters: int = 0

    @property
    def definition_hash(self) -> str:
        """Return the SHA-256 of the canonical definition: all that a model reads or an admin
        approved."""
        # Hashed several times for each import: `asdict` would copy each schema first.
        definition = column_values(self)
        for provenance in _NOT_DEFINITION:
            del definition[provenance]
        return hashlib.sha256(canonical_json(definition).encode()).hexdigest()


AnyDescriptor = TypeVar("AnyDescriptor", Descriptor, IntegrationDescriptor)


@dataclass(frozen=True, slots=True)
class Loaded:
    """The result of reading a source: integrations, capabilities and defects."""

    integrations: tuple[IntegrationDescriptor, ...] = ()
    capabilities: tuple[Descriptor, ...] = ()
    defects: tuple[Defect, ...] = ()


def column_values(descriptor: IntegrationDescriptor | Descriptor) -> dict[str, Any]:
    """Return the fields by name, as array and JSON columns store them: lists instead of tuples."""
    return {name: _column_value(getattr(descriptor, name)) for name in descriptor.__slots__}


def from_columns(kind: type[AnyDescriptor], values: Mapping[str, Any]) -> AnyDescriptor:
    """Restore a descriptor from fields by name, as columns and JSON store them."""
    arguments = {name: values[name] for name in kind.__slots__ if name in values}
    for name in _TUPLES[kind] & arguments.keys():
        items = arguments[name] or ()
        arguments[name] = tuple(
            EdgeDescriptor(**item) if name == "edges" else item for item in items
        )
    return kind(**arguments)


_TUPLES: dict[type[Any], frozenset[str]] = {
    kind: frozenset(one.name for one in fields(kind) if get_origin(one.type) is tuple)
    for kind in (Descriptor, IntegrationDescriptor)
}


def _column_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return [asdict(item) if isinstance(item, EdgeDescriptor) else item for item in value]
    # Rows get a copy, since descriptors are immutable. Schemas are large, so it is a shallow one.
    return dict(value) if isinstance(value, dict) else value


def ordered_json(value: Any, *, ascii_only: bool = False) -> str:
    """Serialize a value without spaces, in the order of its source."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=ascii_only, allow_nan=False)


def canonical_json(value: Any, *, ascii_only: bool = False) -> str:
    """Serialize equal values to equal texts: sorted keys, no spaces, 1.0 written as 1."""
    encode = _ASCII_ENCODER if ascii_only else _ENCODER
    text = encode(value)
    # Every tool of an answer is measured as canonical JSON, and few have such a number. The pattern
    # takes as long as encoding, so two signs of one are looked for first.
    has_whole_float = (".0" in text or "e+" in text) and _WHOLE_FLOAT.search(text)
    return encode(_plain_numbers(value)) if has_whole_float else text


_ENCODER, _ASCII_ENCODER = (
    json.JSONEncoder(
        sort_keys=True, separators=(",", ":"), ensure_ascii=ascii_only, allow_nan=False
    ).encode
    for ascii_only in (False, True)
)
_WHOLE_FLOAT = re.compile(r"\d(?:\.0(?![0-9])|e[+]\d)")


def _plain_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain_numbers(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain_numbers(inner) for inner in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value

"""Definitions as stored, of capabilities that no server lists: from files, admins and chats.

They use the field names of `tools/list`, so that pages compare all origins alike. Other fields are
under `descriptor`, which no server's text has, because only pinned fields of it are kept.
"""

import re
from dataclasses import fields
from typing import Any

from catalog.formats.descriptors import (
    Descriptor,
    IntegrationDescriptor,
    JSONObject,
    canonical_json,
    column_values,
    from_columns,
    ordered_json,
)
from catalog.models import Capability

# Descriptor fields and their names in the stored text.
_FIELD_NAMES = {
    "action": "name",
    "display_name": "title",
    "description": "description",
    "input_schema": "inputSchema",
    "output_schema": "outputSchema",
    "annotations": "annotations",
    "content": "content",
    "examples": "examples",
    "category": "category",
    "tags": "tags",
    "required_secrets": "requiredSecrets",
    "required_tools": "requiredTools",
    "edges": "edges",
}
# Required fields of a descriptor that are left out of the stored text where they are empty.
_REQUIRED = {"display_name": "", "description": "", "category": ""}
_NOT_COLUMNS = {"integration", "edges", "side_effect", "side_effect_inferred"}
# A version number without room for words; valid in Python and Postgres.
PLAIN_VERSION = re.compile(
    r"^v?[0-9]+(\.[0-9]+)*([-.+]?(a|b|c|rc|alpha|beta|pre|preview|dev|post)[-.]?[0-9]*)?$"
)
# Texts of integrations shown to people and models.
INTEGRATION_TEXTS = ("title", "description", "publisher", "version", "licence", "homepage")


def write_descriptor(descriptor: Descriptor) -> str:
    """Serialize a descriptor completely, in its source's order."""
    values = column_values(descriptor)
    texts = {name: values.pop(field) for field, name in _FIELD_NAMES.items()}
    present = {name: value for name, value in texts.items() if value not in (None, "", [], (), {})}
    return ordered_json({**present, "name": texts["name"], "descriptor": values}, ascii_only=True)


def is_descriptor(definition: JSONObject) -> bool:
    """Return True if the definition was serialized here, not by a server."""
    return "descriptor" in definition


def read_descriptor(definition: JSONObject) -> Descriptor:
    """Restore a serialized descriptor."""
    values: dict[str, Any] = dict(definition["descriptor"])
    for field, name in _FIELD_NAMES.items():
        if name in definition:
            values[field] = definition[name]
    # Texts of earlier releases do not say whether their source declared the effect.
    values.setdefault("side_effect_inferred", values.get("kind") == "tool")
    return from_columns(Descriptor, _REQUIRED | values)


def texts_of_descriptor(descriptor: Descriptor) -> JSONObject:
    """Return all texts a model may see, for the scanner."""
    values = column_values(descriptor)
    texts = {name: values[field] for field, name in _FIELD_NAMES.items()}
    texts["unavailableReason"] = descriptor.unavailable_reason
    return {name: text for name, text in texts.items() if text}


def descriptor_of_row(row: Capability) -> Descriptor:
    """Rebuild the descriptor of a stored capability."""
    names = {field.name for field in fields(Descriptor)} - _NOT_COLUMNS
    # The gate compares the source's own words, whatever an admin calls the tool.
    columns = {name: getattr(row, name) for name in names} | row.source_texts
    # An effect as sources declare it: "unknown" is ours alone.
    effect = {
        "side_effect": row.declared_effect
        or ("write" if row.side_effect == Capability.SideEffect.UNKNOWN else row.side_effect),
        "side_effect_inferred": not row.declared_effect,
    }
    values = {**columns, **effect, "integration": row.integration.slug, "edges": row.declared_edges}
    return from_columns(Descriptor, values)


def write_integration(descriptor: IntegrationDescriptor) -> str:
    """Serialize the texts of an integration, for comparison."""
    texts = {name: getattr(descriptor, name) for name in INTEGRATION_TEXTS}
    return canonical_json(
        {**{name: text for name, text in texts.items() if text}, "integration": True},
        ascii_only=True,
    )

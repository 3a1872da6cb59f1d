"""Stored definitions of other origins than servers.

They use the field names of `tools/list`, so that pages compare all origins alike. Other fields are
under `descriptor`, which no server's text has, because only pinned fields of it are kept.
"""

import re
from dataclasses import asdict, fields
from typing import Any

from catalog.formats.descriptors import (
    Descriptor,
    EdgeDescriptor,
    IntegrationDescriptor,
    JSONObject,
    canonical_json,
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
_TUPLES = ("tags", "examples", "required_secrets", "required_tools")
# A version number without room for words; valid in Python and Postgres.
PLAIN_VERSION = re.compile(
    r"^v?[0-9]+(\.[0-9]+)*([-.+]?(a|b|c|rc|alpha|beta|pre|preview|dev|post)[-.]?[0-9]*)?$"
)
# Texts of integrations shown to people and models.
INTEGRATION_TEXTS = ("title", "description", "publisher", "version", "licence", "homepage")


def write_descriptor(descriptor: Descriptor) -> str:
    """Serialize a descriptor completely."""
    values = asdict(descriptor)
    texts = {name: values.pop(field) for field, name in _FIELD_NAMES.items()}
    present = {name: value for name, value in texts.items() if value not in (None, "", [], (), {})}
    return canonical_json({**present, "name": texts["name"], "descriptor": values}, ascii_only=True)


def is_descriptor(definition: JSONObject) -> bool:
    """Return True if the definition was serialized here, not by a server."""
    return "descriptor" in definition


def read_descriptor(definition: JSONObject) -> Descriptor:
    """Restore a serialized descriptor."""
    values: dict[str, Any] = dict(definition["descriptor"])
    for field, name in _FIELD_NAMES.items():
        if name in definition:
            values[field] = definition[name]
    values["display_name"] = values.get("display_name", "")
    values["description"] = values.get("description", "")
    values["category"] = values.get("category", "")
    values["edges"] = tuple(EdgeDescriptor(**edge) for edge in values.get("edges") or ())
    for field in _TUPLES:
        values[field] = tuple(values.get(field) or ())
    return Descriptor(**values)


def texts_of_descriptor(descriptor: Descriptor) -> JSONObject:
    """Return all texts a model may see, for the scanner."""
    values = asdict(descriptor)
    texts = {name: values[field] for field, name in _FIELD_NAMES.items()}
    # The scanner walks lists, not tuples.
    plain = {name: list(one) if isinstance(one, tuple) else one for name, one in texts.items()}
    plain["unavailableReason"] = descriptor.unavailable_reason
    return {name: one for name, one in plain.items() if one}


def descriptor_of_row(row: Capability) -> Descriptor:
    """Rebuild the descriptor of a stored capability."""
    names = {one.name for one in fields(Descriptor)} - {"integration", "edges"}
    values: dict[str, Any] = {name: getattr(row, name) for name in names}
    for name in _TUPLES:
        values[name] = tuple(values[name])
    edges = tuple(EdgeDescriptor(**edge) for edge in row.declared_edges)
    return Descriptor(integration=row.integration.slug, edges=edges, **values)


def write_integration(descriptor: IntegrationDescriptor) -> str:
    """Serialize the texts of an integration, for comparison."""
    texts = {name: getattr(descriptor, name) for name in INTEGRATION_TEXTS}
    return canonical_json(
        {**{name: one for name, one in texts.items() if one}, "integration": True}, ascii_only=True
    )

"""Definitions of other origins than servers, as the rows of definitions keep them.

The fields of an entry of `tools/list` have the same names here, so that a page compares both alike.
What a server never sends stands under `descriptor`: a server's own text has no such field, because
only pinned fields of it are kept.
"""

from dataclasses import asdict, fields
from typing import Any

from catalog.descriptors import (
    Descriptor,
    EdgeDescriptor,
    IntegrationDescriptor,
    JSONObject,
    canonical_json,
)
from catalog.models import Capability

# Field of the descriptor: its name in the text.
_SAID = {
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
# A version that has no room for words; as Python and Postgres read it.
PLAIN_VERSION = (
    r"^v?[0-9]+(\.[0-9]+)*([-.+]?(a|b|c|rc|alpha|beta|pre|preview|dev|post)[-.]?[0-9]*)?$"
)
# Of an integration, the texts that pages and models are shown.
INTEGRATION_TEXTS = ("title", "description", "publisher", "version", "licence", "homepage")


def write_descriptor(descriptor: Descriptor) -> str:
    """Return the descriptor as text, with nothing left out."""
    values = asdict(descriptor)
    said = {name: values.pop(field) for field, name in _SAID.items()}
    kept = {name: value for name, value in said.items() if value not in (None, "", [], (), {})}
    return canonical_json({**kept, "name": said["name"], "descriptor": values}, ascii_only=True)


def is_descriptor(definition: JSONObject) -> bool:
    """Return True if the text was written here, and not by a server."""
    return "descriptor" in definition


def read_descriptor(definition: JSONObject) -> Descriptor:
    """Return the descriptor that was written."""
    values: dict[str, Any] = dict(definition["descriptor"])
    for field, name in _SAID.items():
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
    """Return all texts of the descriptor that a model may get to see, for the scanner."""
    values = asdict(descriptor)
    said = {name: values[field] for field, name in _SAID.items()}
    # The scanner walks lists, not tuples.
    plain = {name: list(one) if isinstance(one, tuple) else one for name, one in said.items()}
    plain["unavailableReason"] = descriptor.unavailable_reason
    return {name: one for name, one in plain.items() if one}


def descriptor_of_row(row: Capability) -> Descriptor:
    """Return the descriptor that a stored capability would come from."""
    names = {one.name for one in fields(Descriptor)} - {"integration", "edges"}
    values: dict[str, Any] = {name: getattr(row, name) for name in names}
    for name in _TUPLES:
        values[name] = tuple(values[name])
    edges = tuple(EdgeDescriptor(**edge) for edge in row.declared_edges)
    return Descriptor(integration=row.integration.slug, edges=edges, **values)


def write_integration(descriptor: IntegrationDescriptor) -> str:
    """Return the texts of an integration that a page compares."""
    said = {name: getattr(descriptor, name) for name in INTEGRATION_TEXTS}
    return canonical_json(
        {**{name: one for name, one in said.items() if one}, "integration": True}, ascii_only=True
    )

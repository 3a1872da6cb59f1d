"""Parameters shared by several meta-tools."""

from catalog.formats.descriptors import JSONObject
from catalog.models import Capability

EVERY_KIND = "any"
OFFSET: JSONObject = {"type": "integer", "minimum": 0, "maximum": 10_000, "default": 0}
# Emergent tools are found under "any": models do not know the term.
_KINDS = [kind for kind in Capability.Kind.values if kind != Capability.Kind.EMERGENT_TOOL]
KIND: JSONObject = {"type": "string", "enum": [*_KINDS, EVERY_KIND]}


def limit(default: int, most: int) -> JSONObject:
    """Return the schema of a page size."""
    return {"type": "integer", "minimum": 1, "maximum": most, "default": default}


def text(description: str, longest: int) -> JSONObject:
    """Return the schema of a string that must not be empty."""
    return {"type": "string", "minLength": 1, "maxLength": longest, "description": description}

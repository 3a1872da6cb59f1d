"""Arguments that several meta-tools take."""

from catalog.formats.descriptors import JSONObject
from catalog.models import Capability

EVERY_KIND = "any"
OFFSET: JSONObject = {"type": "integer", "minimum": 0, "maximum": 10_000, "default": 0}
# Emergent tools are found among all: a model has no use for the word.
_KINDS = [kind for kind in Capability.Kind.values if kind != Capability.Kind.EMERGENT_TOOL]
KIND: JSONObject = {"type": "string", "enum": [*_KINDS, EVERY_KIND]}


def limit(default: int, most: int) -> JSONObject:
    """How many entries an answer has at most."""
    return {"type": "integer", "minimum": 1, "maximum": most, "default": default}


def text(description: str, longest: int) -> JSONObject:
    """A text that is there."""
    return {"type": "string", "minLength": 1, "maxLength": longest, "description": description}

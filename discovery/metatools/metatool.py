"""The type of a meta-tool's definition, and the parameters that several meta-tools share."""

from dataclasses import dataclass, field
from typing import Any

from catalog.formats.descriptors import JSONObject
from catalog.models import Capability


@dataclass(frozen=True, slots=True)
class MetaTool:
    """A tool answered by Pegboard itself. Its description tells a model when to call it."""

    name: str
    title: str
    description: str
    parameters: JSONObject = field(default_factory=dict)
    required: tuple[str, ...] = ()
    # Scope that a key needs to call it: `discover` or `execute`.
    scope: str = "discover"
    side_effect: str = "read"

    @property
    def input_schema(self) -> JSONObject:
        """Return the JSON schema of the arguments."""
        return {
            "type": "object",
            "properties": self.parameters,
            "required": list(self.required),
            "additionalProperties": False,
        }

    def as_tool(self) -> dict[str, Any]:
        """Return name, description and schema, from which every provider's format is rendered."""
        return {
            "name": self.name,
            "description": self.description,
            "input_schema": self.input_schema,
        }


EVERY_KIND = "any"
OFFSET: JSONObject = {"type": "integer", "minimum": 0, "maximum": 10_000, "default": 0}
# Emergent tools are found under "any": models do not know the term.
_KINDS = [kind for kind in Capability.Kind.values if kind != Capability.Kind.EMERGENT_TOOL]
KIND: JSONObject = {"type": "string", "enum": [*_KINDS, EVERY_KIND, "all"]}


def limit(default: int, most: int) -> JSONObject:
    """Return the schema of a page size."""
    return {"type": "integer", "minimum": 1, "maximum": most, "default": default}


def text(description: str, longest: int) -> JSONObject:
    """Return the schema of a string that must not be empty."""
    return {"type": "string", "minLength": 1, "maxLength": longest, "description": description}

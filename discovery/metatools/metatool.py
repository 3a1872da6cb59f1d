"""The type of a meta-tool's definition."""

from dataclasses import dataclass, field
from typing import Any

from catalog.formats.descriptors import JSONObject


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

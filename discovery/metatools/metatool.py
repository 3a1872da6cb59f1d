"""How a meta-tool is described: plain values, the same for every caller."""

from dataclasses import dataclass, field
from typing import Any

from catalog.formats.descriptors import JSONObject


@dataclass(frozen=True, slots=True)
class MetaTool:
    """A tool that Pegboard itself answers. Its texts are what a model goes by: each says when."""

    name: str
    title: str
    description: str
    parameters: JSONObject = field(default_factory=dict)
    required: tuple[str, ...] = ()
    # What a key must be allowed to do: `discover`, or `execute`.
    scope: str = "discover"
    side_effect: str = "read"

    @property
    def input_schema(self) -> JSONObject:
        """Its arguments as a JSON schema."""
        return {
            "type": "object",
            "properties": self.parameters,
            "required": list(self.required),
            "additionalProperties": False,
        }

    def as_tool(self) -> dict[str, Any]:
        """Name, description and arguments: what every provider's format is made of."""
        return {
            "name": self.name,
            "description": self.description,
            "input_schema": self.input_schema,
        }

"""Tools of a plan, as every library wants them: a name, a description and a schema."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pegboard_client.answers import Offer


@dataclass(frozen=True)
class OfferedTool:
    """Name, description and parameters (a JSON Schema) of a tool that a model may call."""

    name: str
    description: str
    parameters: dict[str, Any]


def offered_tools(offer: Offer) -> Iterator[OfferedTool]:
    """Return the tools of a plan or selection that was asked for in the format `openai`."""
    for tool in offer["tools"] or ():
        function: Mapping[str, Any] = tool["function"]
        yield OfferedTool(
            name=function["name"],
            description=function.get("description", ""),
            parameters=function.get("parameters") or {"type": "object", "properties": {}},
        )

"""The tools as an MCP server lists them."""

from typing import Any

from discovery.rendering.common import callable_ones, parameters_of
from discovery.selected import Selected, Selection


def render(selection: Selection) -> list[dict[str, Any]]:
    """The value of `tools` in the answer to `tools/list`."""
    return [
        {
            "name": item.full_name,
            "title": item.display_name,
            "description": item.description or item.display_name,
            "inputSchema": parameters_of(item),
            "annotations": _annotations(item),
        }
        for item in callable_ones(selection.selected)
    ]


def _annotations(item: Selected) -> dict[str, bool]:
    return {
        "readOnlyHint": item.side_effect == "read",
        "destructiveHint": item.side_effect == "delete",
    }

"""The tools of OpenAI's Chat Completions API, which many other servers speak too."""

from typing import Any

from discovery.rendering.common import callable_ones, described, parameters_of
from discovery.selected import Selection


def render(selection: Selection) -> list[dict[str, Any]]:
    """The value of `tools`."""
    return [
        {
            "type": "function",
            "function": {
                "name": item.full_name,
                "description": described(item),
                "parameters": parameters_of(item),
            },
        }
        for item in callable_ones(selection.selected)
    ]

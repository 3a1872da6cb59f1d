"""The tools of Anthropic's Messages API."""

from typing import Any

from discovery.rendering.common import callable_ones, described, parameters_of
from discovery.selected import Selection


def render(selection: Selection) -> list[dict[str, Any]]:
    """The value of `tools`."""
    return [
        {
            "name": item.full_name,
            "description": described(item),
            "input_schema": parameters_of(item),
        }
        for item in callable_ones(selection.selected)
    ]

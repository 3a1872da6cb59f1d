"""The tools of Google's Gemini API.

`parametersJsonSchema` takes JSON Schema as it is; `parameters` takes only a part of it and refuses
the rest.
"""

from typing import Any

from discovery.rendering.common import callable_ones, described, parameters_of
from discovery.selected import Selection


def render(selection: Selection) -> list[dict[str, Any]]:
    """The value of `tools`: one entry with all declarations, or none."""
    declarations = [
        {
            "name": legal_name(item.full_name),
            "description": described(item),
            "parametersJsonSchema": parameters_of(item),
        }
        for item in callable_ones(selection.selected)
    ]
    return [{"functionDeclarations": declarations}] if declarations else []


def legal_name(full_name: str) -> str:
    """Gemini wants a letter or an underscore first; anything else gets an underscore in front."""
    if full_name[0].isalpha() or full_name[0] == "_":
        return full_name
    return f"_{full_name}"[:64]

"""What all tools have in common: which capabilities, in which order, with which parameters."""

from collections.abc import Iterable
from typing import Any

from discovery.selected import Selected

LONGEST_DESCRIPTION = 1024  # the shortest limit among the providers


def callable_ones(selected: Iterable[Selected]) -> list[Selected]:
    """Those that can be called now, by full name."""
    return sorted((item for item in selected if item.available), key=lambda item: item.full_name)


def parameters_of(capability: Selected) -> dict[str, Any]:
    """An object schema; a capability without one, a skill or a channel, takes no parameters.

    Providers refuse a whole request for one tool whose schema is no object, or combines schemas at
    the top: there the properties of all alternatives are offered, and the tool itself checks.
    """
    schema = dict(capability.input_schema or {})
    properties = _object(schema.get("properties"))
    for combination in ("allOf", "anyOf", "oneOf"):
        for branch in schema.pop(combination, None) or ():
            properties = {**_object(_object(branch).get("properties")), **properties}
    return {**schema, "type": "object", "properties": properties}


def described(capability: Selected) -> str:
    """Its description within the providers' limit; never empty."""
    return shortened(capability.description or capability.display_name, LONGEST_DESCRIPTION)


def shortened(text: str, most: int) -> str:
    """The text, cut at a word where it is too long."""
    text = text.strip()
    if len(text) <= most:
        return text
    head, space, _ = text[: most - 1].rpartition(" ")
    return (head if space else text[: most - 1]).rstrip(" ,;:") + "…"


def _object(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}

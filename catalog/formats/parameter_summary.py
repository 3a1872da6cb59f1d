"""One-line summaries of a capability's parameters."""

from catalog.formats.descriptors import JSONObject

_LENGTH = 200


def parameters_summary(schema: JSONObject | None) -> str:
    """List parameter names in schema order; optional ones get a question mark: `query, limit?`."""
    properties = (schema or {}).get("properties")
    if not isinstance(properties, dict):
        return ""
    required = (schema or {}).get("required")
    needed = (
        {name for name in required if isinstance(name, str)}
        if isinstance(required, list)
        else set()
    )
    names = [name if name in needed else f"{name}?" for name in properties]
    return _join_within_limit(names)


def _join_within_limit(names: list[str]) -> str:
    """Join as many names as fit, plus the number of the rest."""
    text = ", ".join(names)
    if len(text) <= _LENGTH:
        return text
    shown = len(names)
    while shown and len(text) > _LENGTH:
        shown -= 1
        text = f"{', '.join(names[:shown])} (+{len(names) - shown} more)"
    return text if shown else f"{len(names)} parameters"

"""What a capability takes, in one short line."""

from catalog.formats.descriptors import JSONObject

_LENGTH = 200


def parameters_summary(schema: JSONObject | None) -> str:
    """Parameter names in the schema's order, the optional ones with a question mark: `query,
    max_results?`."""
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
    return _within(names)


def _within(names: list[str]) -> str:
    """As many names as fit, and how many more there are."""
    text = ", ".join(names)
    if len(text) <= _LENGTH:
        return text
    shown = len(names)
    while shown and len(text) > _LENGTH:
        shown -= 1
        text = f"{', '.join(names[:shown])} (+{len(names) - shown} more)"
    return text if shown else f"{len(names)} parameters"

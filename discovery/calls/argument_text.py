"""The canonical rendering of a call's arguments.

An approval's digest covers its source: the exact text in `Call.arguments_json`.
"""

from acl.visible_text.json_text import Rendering, render_arguments
from discovery.models import Call


def render_call(call: Call) -> Rendering:
    """Render a call's arguments, each with its description from the tool's schema."""
    schema = call.capability.input_schema if call.capability else None
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return render_arguments(call.arguments_json, properties if isinstance(properties, dict) else {})

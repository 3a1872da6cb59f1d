"""The canonical rendering of a call's arguments.

The digest that an approval is bound to is over its source, the very text in `Call.arguments_json`.
"""

from acl.visible_text.json_text import Rendering, render_arguments
from discovery.models import Call


def render_call(call: Call) -> Rendering:
    """Render a call's arguments, with what the tool's schema says of each."""
    schema = call.capability.input_schema if call.capability else None
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return render_arguments(call.arguments_json, properties if isinstance(properties, dict) else {})

"""Flows: values followed from what a turn has read into its calls, and which calls must ask."""

__all__ = [
    "flow_guard",
    "flow_rules",
    "reading_cipher",
    "tool_facts",
    "turn_memory",
    "turn_readings",
    "user_words",
]

"""Flows: follow values from what was read in a turn into its calls, and say which calls must ask."""

__all__ = ["flow_guard", "tool_facts", "turn_readings", "user_words"]

"""Turns: planned, recorded, completed and scored."""

__all__ = [
    "discover",
    "discover_answer",
    "outcome_windows",
    "outcomes",
    "turn_plan",
    "turn_records",
    "turn_state",
    "verdicts",
]

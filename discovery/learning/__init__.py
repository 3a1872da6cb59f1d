"""Learning from use: what a group called for which messages, remembered and forgotten."""

__all__ = [
    "experience_expiry",
    "experience_recorder",
    "learning_review",
    "memory",
    "past_use",
    "turn_notes",
]

"""Learning from use: what a group called for which messages, remembered and forgotten."""

__all__ = ["experience_store", "learning_review", "memory", "past_use", "turn_notes"]

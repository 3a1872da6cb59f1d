"""Answers for models: tools in a provider's format, within a token budget, in a mode."""

__all__ = [
    "all_tools",
    "formats",
    "injection",
    "modes",
    "prompt",
    "selection_answer",
    "tiers",
    "token_budget",
]

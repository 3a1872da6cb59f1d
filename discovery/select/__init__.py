"""Selecting tools for a message: reading it, finding candidates, ranking them, explaining."""

__all__ = [
    "candidates",
    "clauses",
    "glossary",
    "ranking",
    "selection",
    "selection_metrics",
    "selector",
    "small_talk",
    "why_not",
]

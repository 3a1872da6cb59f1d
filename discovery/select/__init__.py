"""Selection of tools for a message: read it, find candidates, rank them, explain."""

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

"""Selection of tools for a message: read it, find candidates, rank them, explain."""

__all__ = [
    "candidates",
    "clauses",
    "common_abilities",
    "example_vectors",
    "glossary",
    "helping_offers",
    "message",
    "ranking",
    "selection",
    "selection_metrics",
    "selector",
    "small_talk",
    "unheld_tools",
    "why_not",
]

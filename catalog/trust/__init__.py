"""Trust: scanning, approval and pinning of definitions from outside.

`gate` decides; `scanner` finds suspicious texts, `impersonation` finds look-alikes, and
`fingerprint` identifies exactly what was approved.
"""

__all__ = [
    "findings",
    "fingerprint",
    "foreign_texts",
    "gate",
    "hidden_characters",
    "impersonation",
    "renames",
    "reviewed_texts",
    "scanner",
    "stored_definition",
    "text_differences",
    "tool_list",
]

"""Trust: definitions from outside are scanned, compared with what was approved, and pinned.

`gate` decides; `scanner` looks for what does not belong in a description, `impersonation` for what
poses as something else, and `fingerprint` says what exactly was approved.
"""

__all__ = [
    "findings",
    "fingerprint",
    "gate",
    "hidden_characters",
    "impersonation",
    "reviewed_texts",
    "scanner",
    "stored_definition",
    "text_differences",
    "tool_list",
]

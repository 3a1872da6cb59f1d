"""The kinds of sources; `source_kinds` says which file reads which."""

__all__ = ["source_kinds", "starter_source"]

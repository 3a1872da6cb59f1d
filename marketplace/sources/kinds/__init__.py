"""Readers of each kind of source; `source_kinds` maps kinds to readers."""

__all__ = ["source_kinds", "starter_source"]

"""Readers of each kind of source; `source_kinds` maps kinds to readers."""

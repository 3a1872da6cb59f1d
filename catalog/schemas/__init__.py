"""Shorter ways to say what a JSON schema says: pure functions, from any JSON to JSON.

`compact` is a JSON schema still, and accepts the same values; `micro` is a notation of its own.
What comes in may be wrong in any way: whatever is not a schema stays as it is.
"""

__all__ = ["compact", "micro", "positions"]

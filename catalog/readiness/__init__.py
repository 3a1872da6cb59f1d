"""Readiness: what a call of a tool would do now, for its caller, and why."""

__all__ = ["approval_policy", "facts", "mend_links", "obstacles", "own_values", "readiness"]

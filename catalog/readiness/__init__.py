"""Readiness: what a call of a tool would do now, for its caller, and why."""

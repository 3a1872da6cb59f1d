"""Readiness: what every surface says of a tool, and what a call then does."""

"""Capabilities made at runtime, by REST with real keys."""

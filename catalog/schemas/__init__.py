"""Shorter notations of JSON schemas: pure functions, from any JSON to JSON.

`compact` yields a JSON schema that accepts the same values; `micro` is a notation of its own. Input
may be malformed: whatever is no schema stays unchanged.
"""

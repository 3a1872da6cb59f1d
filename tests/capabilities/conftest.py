"""Fixtures of lookups: the people of tests/access."""

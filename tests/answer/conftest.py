"""Fixtures: alice of support and charlie of finance with the same catalogue."""

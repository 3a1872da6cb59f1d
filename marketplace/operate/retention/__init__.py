"""Retention: how long each table keeps its rows, and the one sweep that deletes old ones."""

"""Formats of dates in Spanish."""

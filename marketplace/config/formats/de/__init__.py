"""Formats of dates in German."""

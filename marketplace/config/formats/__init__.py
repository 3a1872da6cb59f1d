"""Formats of dates, for each language whose own differ from what pages need."""

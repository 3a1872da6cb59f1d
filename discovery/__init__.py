"""Choosing and using."""

"""Calls about the marketplace."""

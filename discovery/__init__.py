"""Selecting tools for a message, and using them."""

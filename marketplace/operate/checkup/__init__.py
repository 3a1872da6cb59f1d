"""Checks of an installation: what is wrong with it, and the way out."""

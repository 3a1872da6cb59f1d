"""Kinds of channels, a file each in one shape, found by being there."""

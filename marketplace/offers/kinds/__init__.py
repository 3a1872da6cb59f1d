"""Kinds of sources, a file each in one shape, found by being there."""

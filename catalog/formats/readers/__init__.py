"""Formats of documents, a file each in one shape, found by being there."""

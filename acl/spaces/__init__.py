"""Spaces: the places of work in a group, with the root that every group has."""

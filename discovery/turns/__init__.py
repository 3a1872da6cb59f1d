"""Turns: planned, recorded, completed and scored."""

"""Ranking: pure functions from the evidence for candidates to the places of an answer."""

__all__ = ["competition", "fusion", "relation_gains", "scales", "thresholds"]

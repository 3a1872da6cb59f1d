"""Ranking: pure functions from the candidates' evidence to the places of an answer."""

__all__ = ["competition", "fusion", "relation_gains", "scales", "thresholds"]

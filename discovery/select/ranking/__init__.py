"""Ranking: pure functions from the candidates' evidence to the places of an answer."""

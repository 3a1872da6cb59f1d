"""Prices of models per million tokens, as data: those that are shipped, and an admin's own."""

__all__ = ["model_prices"]

"""Prices of models per million tokens, as data: those that are shipped, and an admin's own."""

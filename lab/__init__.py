"""Benches, training and their notes, which ship with the repository and not with the product."""

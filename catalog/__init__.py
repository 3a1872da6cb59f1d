"""The catalogue: what there is, and where it comes from."""

"""Words of names."""

"""The calls that look things up."""

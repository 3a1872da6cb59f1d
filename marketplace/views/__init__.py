"""Pages of the marketplace."""

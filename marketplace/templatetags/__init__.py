"""Template tags of the marketplace's pages."""

"""Tags and filters of the marketplace's pages."""

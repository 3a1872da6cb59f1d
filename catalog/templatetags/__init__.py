"""Template filters of the catalogue."""

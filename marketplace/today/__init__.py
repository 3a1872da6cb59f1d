"""Today: what waits for a person, on one page, and their week in figures."""

"""Selection of tools for a message: read it, find candidates, rank them, explain."""

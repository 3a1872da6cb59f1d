"""Relations between capabilities: stored when definitions change, read for a caller."""

__all__ = ["neighbours", "relations", "stored_links"]

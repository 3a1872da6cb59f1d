"""The graph of relations: stored when definitions change, read per caller."""

__all__ = ["neighbours", "relations", "stored_links"]

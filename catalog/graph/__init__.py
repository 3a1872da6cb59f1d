"""The graph of relations: stored when definitions change, read per caller."""

__all__ = ["argument_lookups", "neighbours", "relations", "stored_links", "stored_lookups"]

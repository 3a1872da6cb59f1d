"""Pages of runtime capabilities: the list, and an admin's decisions."""

__all__ = ["runtime_pages"]

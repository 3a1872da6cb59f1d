"""Life cycle of runtime capabilities: proposed, tried, approved, promoted, retired."""

__all__ = ["runtime_state"]

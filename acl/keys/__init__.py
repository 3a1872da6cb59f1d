"""API keys: creating, rotating, revoking, recognising and listing them."""

__all__ = ["key_lifecycle", "key_list"]

"""REST endpoints of reviews and confirmations."""

__all__ = ["confirmation_api", "review_api"]

"""REST endpoints of reviews and confirmations, and of programs' networks."""

__all__ = ["confirmation_api", "network_api", "requestable_api", "review_api"]

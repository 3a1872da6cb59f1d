"""Integrations as admins manage them: status, reviews, confirmation."""

__all__ = ["api", "integration_list", "pages", "review_decisions", "server_health"]

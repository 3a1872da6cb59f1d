"""Integrations as admins manage them: status, reviews, confirmation."""

__all__ = ["api", "pages"]

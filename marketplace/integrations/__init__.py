"""Integrations as admins manage them: status, reviews, confirmation."""

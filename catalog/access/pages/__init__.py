"""The Access pages, for admins. Everyone else gets 404."""

__all__ = ["access_forms", "access_urls", "change_text"]

"""The page Today, and the forms that handle its rows in place."""

__all__ = ["today_urls"]

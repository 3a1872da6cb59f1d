"""A demonstration week: people, their turns through the API, and the days they are moved to."""

__all__ = ["cast", "days", "demo_backend"]

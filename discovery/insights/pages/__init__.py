"""The pages of Insights: figures, outcomes, tools, and downloads."""

__all__ = ["downloads", "insights_pages"]

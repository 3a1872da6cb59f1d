"""The pages of Insights: figures, outcomes, tools, and downloads."""

__all__ = [
    "charts",
    "downloads",
    "insights_pages",
    "measures",
    "price_pages",
    "risk_page",
    "teach_page",
    "use_pages",
]

"""Insights: figures about turns, tools and groups. Read only."""

__all__ = [
    "call_use",
    "figures",
    "insights_scope",
    "insights_urls",
    "integration_use",
    "lost_searches",
    "pages",
    "risk_report",
    "tool_use",
]

"""Insights: figures about turns, tools and groups. Read only."""

__all__ = ["figures", "insights_scope", "insights_urls", "lost_searches", "pages", "tool_use"]

"""Insights: figures about turns, tools and groups. Read only."""

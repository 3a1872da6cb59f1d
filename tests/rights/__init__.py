"""Limits of authority: no privilege escalation, and one gate for every definition."""

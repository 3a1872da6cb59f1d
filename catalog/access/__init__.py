"""Access to integrations and capabilities: grants, rules, previews, explanations and pages."""

__all__ = [
    "api",
    "explanation",
    "grants",
    "grounds",
    "group_scope",
    "my_tools",
    "pages",
    "rules",
    "usable_ids",
]

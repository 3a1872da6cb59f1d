"""Access to integrations and capabilities: grants, rules, previews, explanations and pages."""

__all__ = [
    "api",
    "change_preview",
    "explanation",
    "flow_exposure",
    "grant_suggestions",
    "grants",
    "grounds",
    "group_availability",
    "group_scope",
    "integration_readiness",
    "kept_limits",
    "my_tools",
    "pages",
    "rules",
    "server_access",
    "tool_readiness",
    "usable_ids",
]

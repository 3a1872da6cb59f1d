"""The MCP client, over standard streams and HTTP, within limits.

A server gets the secrets of its own integration and nothing else of Pegboard's. The SDK limits
neither lines nor bodies nor time, so all limits are here. Used by workers only.
"""

__all__ = [
    "launch_rules",
    "mcp_session",
    "package_digest",
    "process_guard",
    "scope_challenges",
    "server_limits",
    "server_problems",
    "targets",
    "variable_rules",
]

"""The MCP client: programs that are started and addresses that are asked, within limits.

Servers get the secrets of their own integration and nothing else of Pegboard's. The SDK limits
neither lines nor bodies nor time: all limits are here. Workers only.
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

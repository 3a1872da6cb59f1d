"""The MCP client, over standard streams and HTTP, within limits.

A server gets the secrets of its own integration and nothing else of Pegboard's. The SDK limits
neither lines nor bodies nor time, so all limits are here. Used by workers only.
"""

__all__ = [
    "api_reader",
    "api_session",
    "archive_reader",
    "dialogue",
    "failure_classes",
    "http_transport",
    "launch_rules",
    "mcp_session",
    "package_digest",
    "problem_labels",
    "process_guard",
    "reader_process",
    "resource_watchers",
    "server_limits",
    "server_problems",
    "targets",
    "variable_rules",
]

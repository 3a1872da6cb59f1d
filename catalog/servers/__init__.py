"""MCP servers: connections, outgoing requests, sign-in, and the secrets they need."""

__all__ = [
    "call_needs",
    "client",
    "connections",
    "net",
    "oauth",
    "pages",
    "secrets",
    "server_proposals",
]

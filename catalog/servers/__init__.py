"""MCP servers: connections, outgoing requests, sign-in, and the secrets they need."""

__all__ = [
    "call_needs",
    "cell",
    "client",
    "connections",
    "net",
    "oauth",
    "pages",
    "program_network",
    "secrets",
    "server_proposals",
]

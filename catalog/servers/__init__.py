"""MCP servers: everything that talks to strangers, or keeps what they are told."""

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

"""OAuth 2.1 for MCP clients: registration, consent, tokens, and the connections they make."""

__all__ = [
    "authorization_server",
    "client_documents",
    "connections",
    "issued_tokens",
    "registration",
    "resources",
]

"""OAuth 2.1 for MCP clients: registration, consent, tokens, and the connections they make."""

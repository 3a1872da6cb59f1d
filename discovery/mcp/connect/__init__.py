"""Connecting MCP clients: addresses, and set-ups to copy."""

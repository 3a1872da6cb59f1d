"""Pegboard as an MCP server: the protocol, the meta-tools, and how clients are connected."""

"""The gateway for models and MCP clients: answers to meta-tools, the MCP server, and how clients
are connected to it."""

__all__ = ["answers", "connect", "mcp", "metatool_permissions"]

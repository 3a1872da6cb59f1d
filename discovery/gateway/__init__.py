"""The gateway for models and MCP clients: answers to meta-tools, and the MCP server."""

__all__ = ["answers", "mcp", "metatool_permissions"]

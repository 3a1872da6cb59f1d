"""Real MCP clients against a running Pegboard, by hand: `make real-clients`."""

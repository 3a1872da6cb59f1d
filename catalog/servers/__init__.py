"""MCP servers: connections, outgoing requests, sign-in, and the secrets they need."""

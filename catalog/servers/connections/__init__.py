"""Connections to MCP servers that are kept: one process holds them, on one event loop.

`pool` keeps, bounds and renews them and knows nothing of the database; `asking` is what tasks call.
"""

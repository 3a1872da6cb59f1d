"""The MCP client, over standard streams and HTTP, within limits.

A server gets the secrets of its own integration and nothing else of Pegboard's. The SDK limits
neither lines nor bodies nor time, so all limits are here. Used by workers only.
"""

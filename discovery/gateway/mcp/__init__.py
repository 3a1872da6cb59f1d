"""Pegboard as an MCP server.

`mcp_view` is HTTP and authentication, `mcp_protocol` the two generations of the protocol, and
`mcp_tools` the tools. The last two import the SDK, which costs a process 50 MB, when somebody first
speaks MCP.
"""

__all__ = ["mcp_view"]

"""Pegboard as an MCP server.

`mcp_view` handles HTTP and authentication, `endpoints` what each address serves, `mcp_protocol`
both generations of the protocol, and `mcp_tools` the tools. All but the first import the SDK, which
takes 50 MB of memory, on the first MCP request.
"""

__all__ = ["mcp_view", "runnable_tools"]

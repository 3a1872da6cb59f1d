"""Pegboard as an MCP server.

`mcp_view` handles HTTP, `mcp_authentication` keys and OAuth tokens, `endpoints` what each address
serves, `mcp_protocol` both generations of the protocol, and `mcp_tools` the tools. The last three
import the SDK, which takes 50 MB of memory, on the first MCP request.
"""

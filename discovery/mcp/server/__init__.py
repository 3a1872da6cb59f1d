"""Pegboard as an MCP server.

`mcp_view` handles HTTP, keys and OAuth tokens, `_endpoints` what each address serves,
`_mcp_protocol` both generations of the protocol, and `_mcp_tools` the tools. The last three import
the SDK, which takes 50 MB of memory, on the first MCP request.
"""

"""Pegboard as an MCP server: an edge of discovery.

`view.py` is HTTP and who asks, `protocol.py` the two generations of the protocol, `tools.py` what
there is to list and call. The SDK is imported by the last two, and those only once somebody speaks
MCP: it costs every process some 50 MB.
"""

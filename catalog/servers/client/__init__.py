"""Speaks with MCP servers, which are strangers: programs that we start, and addresses that we ask.

They get the secrets of their own integration and nothing else of ours. The SDK has no limit on a
line, on a body or on time: all of them are here. Workers only.
"""

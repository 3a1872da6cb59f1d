"""Open connections to MCP servers, held by one process on one event loop.

`_session_pool` opens, bounds and renews them and knows no database. Tasks call `server_requests`.
"""

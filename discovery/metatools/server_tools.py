"""Meta-tools about MCP servers: list them, call a tool of one, propose another.

They are also capabilities of the starter collection, which reads its texts here.
"""

from discovery.metatools.metatool import MetaTool, text

LIST_SERVERS = MetaTool(
    name="mcp__list_servers",
    title="List MCP servers",
    description=(
        "Show the connected MCP servers and tool servers, how many tools each brings, and whether "
        "it is up, reachable and healthy right now."
    ),
    parameters={
        "include_disconnected": {
            "type": "boolean",
            "default": False,
            "description": "Also servers that do not answer.",
        },
    },
)
CALL_TOOL = MetaTool(
    name="mcp__call_tool",
    title="Call a tool of an MCP server",
    description=(
        "Run a tool of a connected MCP server by server and tool name. Only when that tool is not "
        "itself among the tools at hand."
    ),
    parameters={
        "server_name": text("Name of the server, from the list.", 200),
        "tool_name": text("Name of the tool on that server.", 200),
        "arguments": {"type": "object", "default": {}, "description": "Arguments of the tool."},
    },
    required=("server_name", "tool_name"),
    scope="execute",
    side_effect="write",
)
REGISTER_SERVER = MetaTool(
    name="mcp__register_server",
    title="Propose an MCP server",
    description=(
        "Suggest connecting a new MCP server by its address: add, register or hook up an external "
        "tool server. An admin looks at it, enters any secrets and decides."
    ),
    parameters={
        "name": text("What the server is to be called.", 100),
        "endpoint": {
            "type": "string",
            "format": "uri",
            "description": "Its address, beginning with https.",
        },
        "reason": {"type": "string", "description": "What it would be used for."},
    },
    required=("name", "endpoint"),
    scope="execute",
    side_effect="write",
)

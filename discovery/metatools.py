"""Definitions of the meta-tools by name: plain values, the same for every caller."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from catalog.formats.descriptors import JSONObject
from catalog.models import Capability

# The type of a meta-tool's definition, and the parameters that several meta-tools share.


@dataclass(frozen=True, slots=True)
class MetaTool:
    """A tool answered by Pegboard itself. Its description tells a model when to call it."""

    name: str
    title: str
    description: str
    parameters: JSONObject = field(default_factory=dict)
    required: tuple[str, ...] = ()
    # Scope that a key needs to call it: `discover` or `execute`.
    scope: str = "discover"
    side_effect: str = "read"

    @property
    def input_schema(self) -> JSONObject:
        """Return the JSON schema of the arguments."""
        return {
            "type": "object",
            "properties": self.parameters,
            "required": list(self.required),
            "additionalProperties": False,
        }

    def as_tool(self) -> dict[str, Any]:
        """Return name, description and schema, from which every provider's format is rendered."""
        return {
            "name": self.name,
            "description": self.description,
            "input_schema": self.input_schema,
        }


EVERY_KIND = "any"
OFFSET: JSONObject = {"type": "integer", "minimum": 0, "maximum": 10_000, "default": 0}
# Emergent tools are found under "any": models do not know the term.
_KINDS = [kind for kind in Capability.Kind.values if kind != Capability.Kind.EMERGENT_TOOL]
KIND: JSONObject = {"type": "string", "enum": [*_KINDS, EVERY_KIND, "all"]}


def limit(default: int, most: int) -> JSONObject:
    """Return the schema of a page size."""
    return {"type": "integer", "minimum": 1, "maximum": most, "default": default}


def text(description: str, longest: int) -> JSONObject:
    """Return the schema of a string that must not be empty."""
    return {"type": "string", "minLength": 1, "maxLength": longest, "description": description}


# Meta-tools about MCP servers: list them, call a tool of one, propose another.
# They are also capabilities of the starter collection, which reads its texts here.

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


# Meta-tools that explore the catalogue: browse categories, search, read and call a tool.

LIST_CATEGORIES = MetaTool(
    name="list_categories",
    title="List categories",
    description=(
        "List the categories of tools that this user has, each with how many it holds and some of "
        "their names. Call it first when you do not know what there is."
    ),
)
BROWSE_CATEGORY = MetaTool(
    name="browse_category",
    title="Browse a category",
    description=(
        "List the tools of one category, a line each, a page at a time. Call it when a category "
        "fits the task and you do not know the tool yet."
    ),
    parameters={
        "category": text("A name from list_categories.", 60),
        "limit": limit(default=20, most=50),
        "offset": OFFSET,
    },
    required=("category",),
)


SEARCH_TOOLS = MetaTool(
    name="search_tools",
    title="Search tools",
    description=(
        "Search all tools by what you want to do; the best match comes first. Call it when you "
        "know the task and not the tool, and again in other words before you give up."
    ),
    parameters={
        "query": {"type": "string", "description": "The task, in a few words."},
        "kind": KIND,
        "limit": limit(default=10, most=25),
        "offset": OFFSET,
    },
    required=("query",),
)
# Offered in every turn, so each word of it costs tokens every time.
DISCOVER_CAPABILITIES = MetaTool(
    name="discover_capabilities",
    title="Discover capabilities",
    description="Find more tools, skills, channels by task, before saying that you cannot.",
    parameters={"query": {"type": "string"}, "kind": KIND},
    required=("query",),
)


FULL_NAME = "Full name, as listed or found."
GET_TOOL = MetaTool(
    name="get_tool",
    title="Get a tool",
    description=(
        "Get what one tool is for and the schema of its arguments. Call it before execute_tool, "
        "once for each tool."
    ),
    parameters={
        "name": text(FULL_NAME, 200),
        "detail": {
            "type": "string",
            "enum": ["micro_schema", "compact_schema", "full_schema"],
            "default": "full_schema",
            "description": "How much of the schema.",
        },
    },
    required=("name",),
)
EXECUTE_TOOL = MetaTool(
    name="execute_tool",
    title="Execute a tool",
    description=(
        "Run a tool by its full name, with arguments that fit its schema. Call it after get_tool. "
        "Some tools wait for a person: the status says so, and nothing has been done yet."
    ),
    parameters={
        "name": text(FULL_NAME, 200),
        "arguments": {"type": "object", "default": {}, "description": "The tool's arguments."},
    },
    required=("name",),
    scope="execute",
    side_effect="write",
)
GET_CALL = MetaTool(
    name="get_call",
    title="Get what came of a call",
    description=(
        "Ask what came of a call that was waiting for a person or was still running, by the "
        "call_id that it was answered with. It does not run anything again."
    ),
    parameters={
        "call_id": {
            "type": "string",
            "pattern": "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
            "description": "The call_id, as answered.",
        },
        "wait": {
            "type": "integer",
            "minimum": 0,
            "maximum": 20,
            "default": 0,
            "description": "Seconds to wait for its end.",
        },
    },
    required=("call_id",),
    scope="execute",
)


# The three tools of the integration `tool_discovery` of the starter collection, which reads its
# texts here. The selector offers them, `tool_discovery__find` in every turn.
FIND = MetaTool(
    name="tool_discovery__find",
    title="Find more tools",
    description=(
        "Search the catalogue for a tool that can do what is needed, by intent. Call it when none "
        "of the tools at hand fits the request, before telling the user that it cannot be done."
    ),
    parameters={
        "query": {"type": "string", "description": "What you want to do, in a few words."},
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": 50,
            "default": 10,
            "description": "How many tools at most.",
        },
    },
    required=("query",),
)
LIST_ALL = MetaTool(
    name="tool_discovery__list_all",
    title="List all tools",
    description=(
        "Give an overview of every tool that this user has, all or by category. Answers questions "
        "about what the assistant can do and how it is able to help."
    ),
    parameters={
        "category": {"type": "string", "description": "Only tools of this category."},
    },
)
DESCRIBE = MetaTool(
    name="tool_discovery__describe",
    title="Describe a tool",
    description=(
        "Explain one tool by its name: what it is for, its parameters, whether it asks first and "
        "which connection it needs."
    ),
    parameters={
        "tool_name": {
            "type": "string",
            "description": "Full name, for instance `gmail__send_email`.",
        },
    },
    required=("tool_name",),
)


# Offered instead of the tools themselves when those do not fit a model's context.
EXPLORING = (LIST_CATEGORIES, BROWSE_CATEGORY, SEARCH_TOOLS, GET_TOOL, EXECUTE_TOOL)
META_TOOLS: Mapping[str, MetaTool] = {
    tool.name: tool
    for tool in (
        *EXPLORING,
        GET_CALL,
        *(DISCOVER_CAPABILITIES, FIND, LIST_ALL, DESCRIBE),
        *(LIST_SERVERS, CALL_TOOL, REGISTER_SERVER),
    )
}

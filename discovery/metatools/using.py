"""Using one tool that has been found: reading it, calling it."""

from discovery.metatools.definition import MetaTool
from discovery.metatools.parameters import text

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
        "params": {"type": "object", "default": {}, "description": "The tool's arguments."},
    },
    required=("name",),
    scope="execute",
    side_effect="write",
)

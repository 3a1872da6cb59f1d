"""Meta-tools that read and call one tool."""

from discovery.metatools.metatool import MetaTool
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

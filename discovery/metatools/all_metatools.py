"""All meta-tools by name."""

from collections.abc import Mapping

from discovery.metatools.exploration_tools import (
    BROWSE_CATEGORY,
    DESCRIBE,
    DISCOVER_CAPABILITIES,
    EXECUTE_TOOL,
    FIND,
    GET_CALL,
    GET_TOOL,
    LIST_ALL,
    LIST_CATEGORIES,
    SEARCH_TOOLS,
)
from discovery.metatools.metatool import MetaTool
from discovery.metatools.server_tools import CALL_TOOL, LIST_SERVERS, REGISTER_SERVER

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

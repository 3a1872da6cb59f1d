"""Searching by what is to be done."""

from discovery.metatools.metatool import MetaTool
from discovery.metatools.parameters import KIND, OFFSET, limit

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
# Always in a model's list, so each of its words costs something in every turn.
DISCOVER_CAPABILITIES = MetaTool(
    name="discover_capabilities",
    title="Discover capabilities",
    description="Find more tools, skills, channels by task, before saying that you cannot.",
    parameters={"query": {"type": "string"}, "kind": KIND},
    required=("query",),
)

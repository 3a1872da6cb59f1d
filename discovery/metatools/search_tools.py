"""Meta-tools that search by task."""

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
# Offered in every turn, so each word of it costs tokens every time.
DISCOVER_CAPABILITIES = MetaTool(
    name="discover_capabilities",
    title="Discover capabilities",
    description="Find more tools, skills, channels by task, before saying that you cannot.",
    parameters={"query": {"type": "string"}, "kind": KIND},
    required=("query",),
)

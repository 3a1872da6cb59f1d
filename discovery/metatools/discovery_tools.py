"""The three meta-tools of the integration `tool_discovery`.

They are also capabilities of the starter collection, which reads its texts here. The selector
offers them, `tool_discovery__find` in every turn.
"""

from discovery.metatools.metatool import MetaTool

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

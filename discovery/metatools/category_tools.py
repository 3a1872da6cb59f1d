"""Meta-tools that list and browse categories."""

from discovery.metatools.metatool import MetaTool
from discovery.metatools.parameters import OFFSET, limit, text

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

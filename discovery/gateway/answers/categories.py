"""Looking around: the categories, and what one of them has."""

from collections.abc import Sequence
from typing import Any

from acl.rights.caller import Caller
from catalog.formats.descriptors import JSONObject
from catalog.lookups import catalog_queries
from discovery.calls.execution import NotFoundError
from discovery.calls.near_names import near_names
from discovery.gateway.answers.answer_rows import listed, said, within
from discovery.gateway.answers.metatool_call import MetaCall

NAMES_OF_EACH = 3
MOST_TOKENS = 1_200


def list_categories(call: MetaCall) -> JSONObject:
    """Every category in which the caller has something, with counts and a few names."""
    categories, hint = catalog_queries.list_categories(caller=call.caller)
    return said(**index_of(categories), hint=hint)


def browse_category(call: MetaCall) -> JSONObject:
    """A page of one category."""
    category, offset = call.arguments["category"], call.arguments["offset"]
    page = page_of(call.caller, category, limit=call.arguments["limit"], offset=offset)
    tools = within([listed(item) for item in page.items], MOST_TOKENS)
    following = offset + len(tools)
    return said(
        category=category,
        tools=tools,
        total=page.total,
        next_offset=following if tools and following < page.total else None,
        hint=page.hint,
    )


def page_of(caller: Caller, category: str, *, limit: int, offset: int = 0) -> catalog_queries.Page:
    """Some of a category; NotFoundError where the caller has nothing in it."""
    page = catalog_queries.list_capabilities(
        caller=caller,
        filters=catalog_queries.Filters(category=category),
        limit=limit,
        offset=offset,
    )
    if page.total == 0 and category and not page.hint:
        categories, _ = catalog_queries.list_categories(caller=caller)
        near = near_names(category, (each.category for each in categories))
        raise NotFoundError(category, near, what="category")
    return page


def index_of(categories: Sequence[catalog_queries.CategorySummary]) -> JSONObject:
    """The categories within what an answer may cost; those that are too many by name alone."""
    rows = within([_category(each) for each in categories], MOST_TOKENS)
    left_out = [each.category for each in categories[len(rows) :]]
    total = sum(len(each.names) for each in categories)
    return said(categories=rows, others=left_out or None, total=total)


def _category(summary: catalog_queries.CategorySummary) -> dict[str, Any]:
    return {
        "category": summary.category,
        "count": len(summary.names),
        "names": summary.names[:NAMES_OF_EACH],
    }

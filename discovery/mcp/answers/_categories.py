"""Answers to the meta-tools that list and browse categories."""

from collections.abc import Sequence
from typing import Any

from acl.rights.caller_lookup import Caller
from catalog.capabilities import catalog_queries
from catalog.formats.descriptors import JSONObject
from discovery.calls.execution import NotFoundError
from discovery.calls.near_names import near_names
from discovery.mcp.answers._base import MetaCall, fit_to_budget, list_row, without_empty

NAMES_PER_CATEGORY = 3
MOST_TOKENS = 1_200


def list_categories(call: MetaCall) -> JSONObject:
    """List the categories in which the caller has tools, with counts and some names."""
    categories, hint = catalog_queries.list_categories(caller=call.caller)
    return without_empty(**category_index(categories), hint=hint)


def browse_category(call: MetaCall) -> JSONObject:
    """Return a page of one category."""
    category, offset = call.arguments["category"], call.arguments["offset"]
    page = read_page(call.caller, category, limit=call.arguments["limit"], offset=offset)
    tools = fit_to_budget([list_row(item) for item in page.items], MOST_TOKENS)
    following = offset + len(tools)
    return without_empty(
        category=category,
        tools=tools,
        total=page.total,
        next_offset=following if tools and following < page.total else None,
        hint=page.hint,
    )


def read_page(
    caller: Caller, category: str, *, limit: int, offset: int = 0
) -> catalog_queries.Page:
    """Read a page of a category. Raises NotFoundError if the caller has nothing in it."""
    page = catalog_queries.list_capabilities(
        caller=caller,
        filters=catalog_queries.CapabilityFilters(category=category),
        limit=limit,
        offset=offset,
    )
    if page.total == 0 and category and not page.hint:
        categories, _ = catalog_queries.list_categories(caller=caller)
        near = near_names(category, (summary.category for summary in categories))
        raise NotFoundError(category, near, what="category")
    return page


def category_index(categories: Sequence[catalog_queries.CategorySummary]) -> JSONObject:
    """Return the categories that fit the token budget; the rest by name alone."""
    rows = fit_to_budget([_category(summary) for summary in categories], MOST_TOKENS)
    left_out = [summary.category for summary in categories[len(rows) :]]
    total = sum(len(summary.names) for summary in categories)
    return without_empty(categories=rows, others=left_out or None, total=total)


def _category(summary: catalog_queries.CategorySummary) -> dict[str, Any]:
    return {
        "category": summary.category,
        "count": len(summary.names),
        "names": summary.names[:NAMES_PER_CATEGORY],
    }

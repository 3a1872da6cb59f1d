"""Answers to the three meta-tools that are also capabilities of the starter collection.

Their definitions have no paging, so what does not fit an answer is named or counted.
"""

from typing import Any

from catalog.formats.descriptors import JSONObject
from catalog.lookups import catalog_queries
from catalog.lookups.detail_levels import short_description
from discovery.calls.shown_parameters import list_parameters
from discovery.gateway.answers.answer_base import (
    LONGEST_DESCRIPTION,
    MetaCall,
    list_row,
    search_row,
    without_empty,
)
from discovery.gateway.answers.category_answers import read_page
from discovery.gateway.answers.metatool_search import notes_on, search
from discovery.gateway.answers.tool_answers import read_tool

MAX_ROWS, MAX_NAMES = 20, 60


def find_tools(call: MetaCall) -> JSONObject:
    """Search for tools that match the query."""
    result = search(call)
    tools = [search_row(item) for item in result.items[: call.arguments["limit"]]]
    return without_empty(
        query=call.arguments["query"],
        count=len(tools),
        tools=tools,
        more=max(0, len(result.items) - len(tools)) or None,
        **notes_on(call.caller, result),
    )


def list_all(call: MetaCall) -> JSONObject:
    """List all tools or one category: the first in a row each, more by name, the rest counted."""
    page = read_page(call.caller, call.arguments.get("category", ""), limit=MAX_ROWS + MAX_NAMES)
    tools = [{**list_row(item), "category": item["category"]} for item in page.items[:MAX_ROWS]]
    return without_empty(
        total=page.total,
        tools=tools,
        also=[item["full_name"] for item in page.items[MAX_ROWS:]] or None,
        more=max(0, page.total - len(page.items)) or None,
        categories=_counts(call) if page.has_more else None,
        hint=page.hint,
    )


def describe(call: MetaCall) -> JSONObject:
    """Describe one tool and its parameters in words."""
    entry = read_tool(call.caller, call.arguments["tool_name"], "full_schema")
    parameters = entry.pop("input_schema", None)
    return without_empty(**entry, parameters=_in_words(parameters))


def _counts(call: MetaCall) -> dict[str, int]:
    categories, _ = catalog_queries.list_categories(caller=call.caller)
    return {each.category: len(each.names) for each in categories}


def _in_words(schema: JSONObject | None) -> list[dict[str, Any]] | None:
    """Return name, type, necessity and description of each parameter."""
    return [
        without_empty(
            name=part.name,
            type=part.type,
            required=part.required or None,
            description=short_description(part.description, LONGEST_DESCRIPTION),
        )
        for part in list_parameters(schema)
    ] or None

"""The three that are capabilities, too.

They take what their definitions say and no more, so what does not fit an answer is told by name or
counted, not paged.
"""

from typing import Any

from catalog.formats.descriptors import JSONObject
from catalog.lookups import catalog_queries
from catalog.lookups.detail_levels import short_description
from discovery.calls.shown_parameters import parameters_of
from discovery.gateway.answers.answer_rows import LONGEST_DESCRIPTION, found, listed, said
from discovery.gateway.answers.categories import page_of
from discovery.gateway.answers.metatool_call import MetaCall
from discovery.gateway.answers.metatool_search import beside, find
from discovery.gateway.answers.tool_use import shown

DESCRIBED, NAMED = 20, 60


def find_tools(call: MetaCall) -> JSONObject:
    """The best matches for the query."""
    result = find(call)
    tools = [found(item) for item in result.items[: call.arguments["limit"]]]
    return said(
        query=call.arguments["query"],
        count=len(tools),
        tools=tools,
        more=max(0, len(result.items) - len(tools)) or None,
        **beside(call.caller, result),
    )


def list_all(call: MetaCall) -> JSONObject:
    """Everything, or one category: the first with a line each, more by name, the rest counted."""
    page = page_of(call.caller, call.arguments.get("category", ""), limit=DESCRIBED + NAMED)
    tools = [{**listed(item), "category": item["category"]} for item in page.items[:DESCRIBED]]
    return said(
        total=page.total,
        tools=tools,
        also=[item["full_name"] for item in page.items[DESCRIBED:]] or None,
        more=max(0, page.total - len(page.items)) or None,
        categories=_counts(call) if page.has_more else None,
        hint=page.hint,
    )


def describe(call: MetaCall) -> JSONObject:
    """One tool in words."""
    entry = shown(call.caller, call.arguments["tool_name"], "full_schema")
    parameters = entry.pop("input_schema", None)
    return said(**entry, parameters=_in_words(parameters))


def _counts(call: MetaCall) -> dict[str, int]:
    categories, _ = catalog_queries.list_categories(caller=call.caller)
    return {each.category: len(each.names) for each in categories}


def _in_words(schema: JSONObject | None) -> list[dict[str, Any]] | None:
    """Each parameter: its name, type, whether it is required, and what it means."""
    return [
        said(
            name=part.name,
            type=part.type,
            required=part.required or None,
            description=short_description(part.description, LONGEST_DESCRIPTION),
        )
        for part in parameters_of(schema)
    ] or None

"""Dispatch of meta-tool calls by name, for the API, the MCP server and calls of capabilities."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.db.models import Count, QuerySet

from acl.rights.caller_lookup import Caller
from catalog.access.integration_readiness import readiness_of_callers
from catalog.capabilities import catalog_queries
from catalog.capabilities.detail_levels import short_description
from catalog.formats.descriptors import JSONObject
from catalog.models import Capability, Integration
from catalog.readiness.readiness import ToolReadiness
from catalog.schemas import list_parameters
from catalog.servers.net.address_check import EndpointNotAllowedError
from catalog.servers.proposals import ProposalRefusedError, propose_server
from discovery.calls.argument_check import ArgumentsRefusedError, check_arguments
from discovery.calls.arguments import accept_former_names
from discovery.calls.execution import NotFoundError, execute, find_usable, near_names
from discovery.mcp.answers import _families
from discovery.mcp.answers._families import (
    LONGEST_DESCRIPTION,
    MetaCall,
    fit_to_budget,
    list_row,
    notes_on,
    read_page,
    read_tool,
    search,
    search_row,
    without_empty,
)
from discovery.metatools import META_TOOLS, REGISTER_SERVER

# Answers to the meta-tools about MCP servers of which the caller may use a tool.

MOST_TOKENS = 1_200
_STATUS = {
    "connected": "connected",
    "failing": "failing",
    "disconnected": "not connected",
    "not_needed": "called by the application",
}
_AWAY = ("disconnected", "failing")


def list_servers(call: MetaCall) -> JSONObject:
    """List the servers with the caller's tools, their number, and the connection's status."""
    servers = list(
        _usable(call.caller)
        .values(
            "integration_id", "integration__slug", "integration__title", "integration__connection"
        )
        .annotate(tools=Count("pk"))
        .order_by("integration__slug")
    )
    all_of_them = call.arguments["include_disconnected"]
    selected = [
        server
        for server in servers
        if all_of_them or server["integration__connection"] not in _AWAY
    ]
    states = readiness_of_callers(call.caller, [server["integration_id"] for server in selected])
    # One whose last tool was lost since they were counted has no state, and is left out.
    selected = [server for server in selected if server["integration_id"] in states]
    server_rows = [_row(server, states[server["integration_id"]].readiness) for server in selected]
    rows = fit_to_budget(server_rows, MOST_TOKENS)
    away = len(servers) - len(selected)
    return without_empty(
        servers=rows,
        total=len(selected),
        also=[server["integration__slug"] for server in selected[len(rows) :]] or None,
        hint=f"{away} more do not answer: ask with include_disconnected." if away else "",
    )


def call_tool(call: MetaCall) -> JSONObject:
    """Call a tool by the names of its server and its action."""
    server, tool = call.arguments["server_name"], call.arguments["tool_name"]
    done = execute(
        caller=call.caller,
        full_name=_full_name(call.caller, server, tool),
        arguments=call.arguments["arguments"],
        turn_id=call.turn_id,
        conversation=call.conversation,
    )
    return done.as_answer()


def register_server(call: MetaCall) -> JSONObject:
    """Store a proposal for an admin; nothing is connected."""
    # Rights on this capability apply on every path, since it writes.
    find_usable(caller=call.caller, full_name=REGISTER_SERVER.name)
    proposed = {name: call.arguments.get(name, "") for name in ("name", "endpoint", "reason")}
    try:
        proposal = propose_server(caller=call.caller, **proposed)
    except ProposalRefusedError as refused:
        raise ArgumentsRefusedError(refused.argument, refused.reason) from None
    except EndpointNotAllowedError as refused:
        raise ArgumentsRefusedError("endpoint", str(refused)) from None
    return {
        "status": "proposed",
        "name": proposal.name,
        "endpoint": proposal.endpoint,
        "message": "Nothing is connected yet. An admin looks at it, enters secrets and decides.",
    }


def _usable(caller: Caller) -> "QuerySet[Capability]":
    return Capability.objects.usable_by(caller).filter(
        integration__kind__in=Integration.CALLED, kind=Capability.Kind.TOOL
    )


def _row(server: Mapping[str, Any], readiness: ToolReadiness) -> dict[str, Any]:
    return {
        "server": server["integration__slug"],
        "title": server["integration__title"],
        "tools": server["tools"],
        "status": _STATUS[server["integration__connection"]],
        # The status is the connection's; a connected server may still lack a secret.
        "readiness": readiness.state.value,
        **({} if readiness.is_offered else {"note": readiness.sentence}),
    }


def _full_name(caller: Caller, server: str, tool: str) -> str:
    """Return the full name. Raises NotFoundError alike for unknown and for forbidden names."""
    rows = list(
        _usable(caller).values_list(
            "integration__slug", "integration__title", "action", "full_name"
        )
    )
    folded = server.casefold()
    slugs = {row[0] for row in rows}
    slug = folded if folded in slugs else _by_title(folded, rows)
    if slug is None:
        raise NotFoundError(server, near_names(server, sorted(slugs)), what="server")
    names_by_action = {
        action: full_name for row_slug, _, action, full_name in rows if row_slug == slug
    }
    names = {**{full_name: full_name for full_name in names_by_action.values()}, **names_by_action}
    if tool not in names:
        raise NotFoundError(tool, near_names(tool, sorted(names_by_action)))
    return names[tool]


def _by_title(folded: str, rows: list[tuple[str, str, str, str]]) -> str | None:
    """Return the slug of the only server with that title; None if several have it."""
    slugs = {slug for slug, title, _, _ in rows if title.casefold() == folded}
    return slugs.pop() if len(slugs) == 1 else None


# Answers to the three meta-tools that are also capabilities of the starter collection.
# Their definitions have no paging, so what does not fit an answer is named or counted.

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
    return {category.category: len(category.names) for category in categories}


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


ANSWERS: Mapping[str, Callable[[MetaCall], JSONObject]] = {
    "list_categories": _families.list_categories,
    "browse_category": _families.browse_category,
    "search_tools": _families.search_tools,
    "get_tool": _families.get_tool,
    "execute_tool": _families.execute_tool,
    "get_call": _families.get_call,
    "discover_capabilities": _families.discover_capabilities,
    "tool_discovery__find": find_tools,
    "tool_discovery__list_all": list_all,
    "tool_discovery__describe": describe,
    "mcp__list_servers": list_servers,
    "mcp__call_tool": call_tool,
    "mcp__register_server": register_server,
}


def call_meta_tool(
    *,
    caller: Caller,
    name: str,
    arguments: Any,
    turn_id: UUID | None = None,
    conversation: str = "",
) -> JSONObject:
    """Return the answer of a meta-tool.

    Raises KeyError for an unknown meta-tool, ArgumentsRefusedError for arguments that do not fit,
    and NotFoundError if they name something that is not the caller's.
    """
    tool = META_TOOLS[name]
    arguments = accept_former_names(tool, arguments)
    check_arguments(tool.input_schema, arguments)
    defaults = {
        name: part["default"] for name, part in tool.parameters.items() if "default" in part
    }
    return ANSWERS[name](MetaCall(caller, {**defaults, **arguments}, turn_id, conversation))


def answer_call(caller: Caller, name: str, arguments: JSONObject) -> JSONObject:
    """Answer a call of a meta-tool that is registered as a capability."""
    return call_meta_tool(caller=caller, name=name, arguments=arguments)

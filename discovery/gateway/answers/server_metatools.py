"""Answers to the meta-tools about MCP servers of which the caller may use a tool."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Count, QuerySet

from acl.rights.caller import Caller
from catalog.access.integration_readiness import readiness_of_callers
from catalog.formats.descriptors import JSONObject
from catalog.models import Capability, Integration
from catalog.readiness.readiness import ToolReadiness
from catalog.servers.net.outgoing_errors import EndpointNotAllowedError
from catalog.servers.server_proposals import ProposalRefusedError, propose_server
from discovery.calls.argument_check import ArgumentsRefusedError
from discovery.calls.execution import NotFoundError, execute, find_usable
from discovery.calls.near_names import near_names
from discovery.gateway.answers.answer_base import MetaCall, fit_to_budget, without_empty
from discovery.metatools.server_tools import REGISTER_SERVER

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
    wanted = [one for one in servers if all_of_them or one["integration__connection"] not in _AWAY]
    states = readiness_of_callers(call.caller, [one["integration_id"] for one in wanted])
    # One whose last tool was lost since they were counted has no state, and is left out.
    wanted = [one for one in wanted if one["integration_id"] in states]
    shown = [_row(one, states[one["integration_id"]].readiness) for one in wanted]
    rows = fit_to_budget(shown, MOST_TOKENS)
    away = len(servers) - len(wanted)
    return without_empty(
        servers=rows,
        total=len(wanted),
        also=[one["integration__slug"] for one in wanted[len(rows) :]] or None,
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
    )
    return done.as_answer()


def register_server(call: MetaCall) -> JSONObject:
    """Store a proposal for an admin; nothing is connected."""
    # Rights on this capability apply on every path, since it writes.
    find_usable(caller=call.caller, full_name=REGISTER_SERVER.name)
    given = {name: call.arguments.get(name, "") for name in ("name", "endpoint", "reason")}
    try:
        proposal = propose_server(caller=call.caller, **given)
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
    asked = server.casefold()
    slugs = {row[0] for row in rows}
    slug = asked if asked in slugs else _by_title(asked, rows)
    if slug is None:
        raise NotFoundError(server, near_names(server, sorted(slugs)), what="server")
    own = {action: full_name for one, _, action, full_name in rows if one == slug}
    names = {**{full_name: full_name for full_name in own.values()}, **own}
    if tool not in names:
        raise NotFoundError(tool, near_names(tool, sorted(own)))
    return names[tool]


def _by_title(asked: str, rows: list[tuple[str, str, str, str]]) -> str | None:
    """Return the slug of the only server with that title; None if several have it."""
    found = {slug for slug, title, _, _ in rows if title.casefold() == asked}
    return found.pop() if len(found) == 1 else None

"""MCP addresses of a person, to give to a client, with the number of tools behind each."""

from collections import Counter
from dataclasses import dataclass, replace

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Count
from django.urls import reverse
from django.utils.http import urlencode

from acl.models import Space
from acl.rights.caller_lookup import Caller
from catalog.models import Integration
from discovery.mcp._metatool_permissions import may_call
from discovery.mcp.server.runnable_tools import runnable_tools
from discovery.metatools.registry import META_TOOLS

MOST_SHOWN = 200  # integrations or spaces to choose from; others are found by their address


@dataclass(frozen=True, slots=True)
class Address:
    """An MCP address, and the caller as whom a key asks there."""

    path: str
    kind: str  # "everything", "space" or "integration"
    caller: Caller
    title: str = ""
    group: str = ""
    tools: int = 0

    @property
    def client_name(self) -> str:
        """Name of the connection in clients: letters, digits and hyphens."""
        last = self.path.partition("?")[0].rpartition("/")[2]
        return "pegboard" if self.kind == "everything" else f"pegboard-{last}".replace("_", "-")


@dataclass(frozen=True, slots=True)
class ToolCount:
    """Tools that a client is shown at an address: meta-tools, and the caller's own."""

    usable: int
    listed: int
    meta_tools: int = 0

    @property
    def is_choice(self) -> bool:
        """True if the list holds a choice of the tools."""
        return self.listed < self.usable


def list_addresses(caller: Caller) -> list[Address]:
    """Return the addresses that the caller may use, by three statements."""
    everything = Address(reverse("mcp"), "everything", caller)
    return [everything, *_spaces(caller), *_integrations(caller)]


def count_tools(person: User, address: Address) -> ToolCount:
    """Count what the address lists."""
    if address.kind == "integration":
        return ToolCount(address.tools, address.tools)
    meta_tools = sum(may_call(person, tool) for tool in META_TOOLS.values())
    usable = runnable_tools(address.caller).connected().count()
    return ToolCount(usable, min(usable, settings.PEGBOARD_MCP_TOOLS), meta_tools)


def _integrations(caller: Caller) -> list[Address]:
    counted = runnable_tools(caller).order_by().values_list("integration_id").annotate(Count("pk"))
    counts: dict[int, int] = dict(counted)
    rows = Integration.objects.filter(pk__in=counts).order_by("title", "pk")[:MOST_SHOWN]
    return [
        Address(
            reverse("mcp-integration", args=[row.slug]),
            "integration",
            caller,
            title=row.title,
            tools=counts[row.pk],
        )
        for row in rows
    ]


def _spaces(caller: Caller) -> list[Address]:
    """Return the spaces below the roots. Where several groups have one of a name, the address
    names the group."""
    rows = Space.objects.filter(group__in=caller.group_ids).select_related("group")
    spaces = list(rows.order_by("group__name", "name", "pk")[:MOST_SHOWN])
    names = Counter(row.slug for row in spaces)
    below = (row for row in spaces if row.parent_id is not None)
    return [_space_address(caller, row, is_shared=names[row.slug] > 1) for row in below]


def _space_address(caller: Caller, row: Space, *, is_shared: bool) -> Address:
    others = tuple(pk for pk in caller.group_ids if pk != row.group_id)
    query = f"?{urlencode({'group': row.group.name})}" if is_shared else ""
    return Address(
        reverse("mcp-space", args=[row.slug]) + query,
        "space",
        replace(
            caller,
            group_id=row.group_id,
            space_id=row.pk,
            other_groups=() if is_shared else others,
        ),
        title=row.name,
        group=row.group.name,
    )

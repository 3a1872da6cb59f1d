"""Page of the set-up of MCP clients: an address, a client, and text to copy."""

from collections import Counter
from dataclasses import dataclass, replace

from django import forms
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db.models import Count
from django.http import HttpResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from acl.keys.listing import usable_keys_of
from acl.models import Space
from acl.rights.caller_lookup import Caller
from acl.web.frame import PageRequest, frame_of, render_page
from catalog.models import Integration
from discovery.mcp._metatool_permissions import may_call
from discovery.mcp.connect._client_setups import CLIENTS, ClientAddress
from discovery.mcp.server.runnable_tools import runnable_tools
from discovery.metatools.registry import META_TOOLS

# MCP addresses of a person, to give to a client, with the number of tools behind each.

MOST_SEEN = 12  # assistants, those that were there last
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
    def all(self) -> int:
        """Return the number that *My tools* shows where all of them run here."""
        return self.usable + self.meta_tools

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


class ConnectForm(forms.Form):
    """Address, client and credential; unknown ones mean the first."""

    address = forms.CharField(required=False, max_length=300)
    client = forms.CharField(required=False, max_length=40)
    key = forms.BooleanField(required=False)


@login_required
@require_GET
def connect(request: PageRequest) -> HttpResponse:
    """Show the set-up of one client for one address."""
    # A key acts in all groups of its owner together.
    frame = frame_of(request)
    if frame.everywhere is None:
        title = _("Connect an assistant")
        return render_page(request, "no_group.html", {"title": title}, frame=frame)
    form = ConnectForm(request.GET)
    form.full_clean()
    addresses = list_addresses(frame.everywhere)
    path = form.cleaned_data.get("address", "")
    address = next((address for address in addresses if address.path == path), addresses[0])
    slug = form.cleaned_data.get("client", "")
    client = next((client for client in CLIENTS if client.slug == slug), CLIENTS[0])
    can_sign_in = settings.PEGBOARD_OAUTH and client.signs_in
    by_key = not can_sign_in or bool(form.cleaned_data.get("key"))
    connection = ClientAddress(
        address.client_name, request.build_absolute_uri(address.path), by_key=by_key
    )
    context: dict[str, object] = {
        "addresses": addresses,
        "address": address,
        "url": connection.address,
        "count": count_tools(request.user, address),
        "clients": CLIENTS,
        "client": client,
        "can_sign_in": can_sign_in,
        "by_key": by_key,
        "setup": client.set_up(connection),
        # Of clients that signed in, and of keys for those that cannot.
        "seen": usable_keys_of(request.user)[:MOST_SEEN],
    }
    template = "tools/connect.html" + ("#setup" if request.htmx else "")
    return render_page(request, template, context, frame=frame)

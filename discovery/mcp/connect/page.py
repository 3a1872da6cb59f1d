"""Page of the set-up of MCP clients: an address, a client, and text to copy."""

from collections.abc import Sequence

from django import forms
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from acl.web.frame import PageRequest, frame_of, render_page
from discovery.mcp.connect._addresses import Address, count_tools, list_addresses
from discovery.mcp.connect._client_setups import CLIENTS, AssistantClient, ClientAddress


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
    address = _chosen_address(addresses, form.cleaned_data.get("address", ""))
    client = _chosen_client(form.cleaned_data.get("client", ""))
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
    }
    template = "tools/connect.html" + ("#setup" if request.htmx else "")
    return render_page(request, template, context, frame=frame)


def _chosen_address(addresses: Sequence[Address], path: str) -> Address:
    return next((address for address in addresses if address.path == path), addresses[0])


def _chosen_client(slug: str) -> AssistantClient:
    return next((client for client in CLIENTS if client.slug == slug), CLIENTS[0])

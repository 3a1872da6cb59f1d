"""Pages of networks: what a program may reach, and the allowed hosts of one's own."""

import re

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from acl.web.frame import PageRequest, admins_only, frame_of, render_page
from catalog.models import Integration
from catalog.servers.cell.allowed_hosts import MOST_CHARACTERS, NotAHostError
from catalog.servers.net.private_hosts import (
    HostRefusedError,
    allow_private_host,
    forget_private_host,
    list_private_hosts,
)
from catalog.servers.program_network import allow_host, set_network
from marketplace.integrations.pages.overview import show
from marketplace.integrations.server_health import check_now
from marketplace.models import Listing

# Page action that changes what an integration's program may reach.


class NetworkForm(forms.Form):
    """All hosts, one on each line, or one more that was refused."""

    hosts = forms.CharField(required=False, max_length=20_000)
    whole_network = forms.CharField(required=False, max_length=2)
    allow = forms.CharField(required=False, max_length=MOST_CHARACTERS)


@admins_only
@require_POST
def network(request: PageRequest, slug: str) -> HttpResponse:
    """Change the allowed hosts, or add one that the program was refused."""
    row = get_object_or_404(Integration, slug=slug, transport="stdio")
    form = NetworkForm(request.POST)
    if form.is_valid():
        try:
            _change(request, row, form)
        except NotAHostError as problem:
            form.add_error("hosts", str(problem))
        else:
            done = _("Saved. The program is restarted with it before its next call.")
            messages.success(request, done)
            return redirect(f"{reverse('integration', args=[slug])}#network")
    return show(request, slug, {"network_form": form}, status=422)


def _change(request: PageRequest, row: Integration, form: NetworkForm) -> None:
    data = form.cleaned_data
    if data["allow"]:
        allow_host(by=request.user, integration=row, host=data["allow"])
        return
    whole = data["whole_network"] == "on"
    set_network(by=request.user, integration=row, whole=whole, hosts=data["hosts"].split())


# The page of the allowed hosts of one's own network.

# Public ids of what was added together.
_ADDITIONS = re.compile(r"[0-9a-f-]{36}(?:,[0-9a-f-]{36})*")


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def hosts(request: PageRequest) -> HttpResponse:
    """List the allowed hosts, allow one more, or close one."""
    problem, back = "", redirect("allowed-hosts")
    try:
        if text := request.POST.get("forget", ""):
            if forget_private_host(by=request.user, text=text):
                messages.success(request, _("%(host)s is closed again.") % {"host": text})
            return back
        if request.method == "POST":
            row = allow_private_host(by=request.user, text=request.POST.get("host", ""))
            messages.success(request, _("%(host)s is allowed.") % {"host": row})
            return way_back(request) or back
    except HostRefusedError as refused:
        problem = str(refused)
    context = {
        "hosts": list_private_hosts(),
        "of_operator": [
            f"{host}:{port}" if port else host
            for host, port in sorted(settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS, key=str)
        ],
        "problem": problem,
        "host": request.POST.get("host", ""),
    }
    frame, status = frame_of(request), 422 if problem else 200
    return render_page(request, "integrations/hosts.html", context, frame=frame, status=status)


def way_back(request: PageRequest) -> HttpResponse | None:
    """Return to where the host was refused; the server of an integration is checked anew."""
    if _ADDITIONS.fullmatch(of := request.POST.get("of", "")):
        return redirect(f"{reverse('add-together')}?of={of}")
    listing = request.POST.get("listing", "")
    if Listing.objects.filter(slug=listing).exists():
        return redirect("listing-install", listing)
    integration = Integration.objects.filter(slug=request.POST.get("integration", "")).first()
    if integration is None:
        return None
    check_now(by=request.user, integration=integration)
    return redirect("integration", integration.slug)

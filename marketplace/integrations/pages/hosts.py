"""The page of the allowed hosts of one's own network."""

import re

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from acl.web.frame import PageRequest, frame_of, render_page
from acl.web.staff_pages import admins_only
from catalog.models import Integration
from catalog.servers.net.private_hosts import (
    HostRefusedError,
    allow_private_host,
    forget_private_host,
    list_private_hosts,
)
from marketplace.integrations.server_health import check_now
from marketplace.models import Listing

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

"""Pages of people's own servers: one's own, and the switch and the list for admins."""

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from acl.web.frame import PageRequest, admins_only, frame_of, render_page
from catalog.models import Integration
from marketplace.installs.own_servers import (
    LONGEST_TITLE,
    OwnServerRefusedError,
    add_own_server,
    allow_own_servers,
    are_own_servers_allowed,
    list_own_servers,
    remove_own_server,
)
from marketplace.integrations.listing import IntegrationFilters, list_integrations, rows_of

MOST_LISTED = 500  # people have ten at most


class OwnServerForm(forms.Form):
    """The address of a server, its name, and a token, which is never rendered again."""

    address = forms.CharField(
        max_length=500,
        widget=forms.TextInput({"class": "input", "placeholder": "https://", "dir": "ltr"}),
    )
    title = forms.CharField(
        required=False, max_length=LONGEST_TITLE, widget=forms.TextInput({"class": "input"})
    )
    token = forms.CharField(
        required=False,
        max_length=4000,
        widget=forms.PasswordInput({"class": "input", "autocomplete": "off"}, render_value=False),
    )


@sensitive_post_parameters("token")
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def own_servers(request: PageRequest) -> HttpResponse:
    """List the person's own servers, or add one."""
    allowed, mine = are_own_servers_allowed(), list_own_servers(request.user)
    if not allowed and not mine.exists():
        raise Http404
    form = OwnServerForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            installation = add_own_server(by=request.user, **form.cleaned_data)
        except OwnServerRefusedError as problem:
            form.add_error("address", str(problem))
        else:
            title = installation.integration.title
            messages.success(request, _("%(title)s is being added.") % {"title": title})
            return redirect("own-servers")
    rows = rows_of(list(list_integrations(IntegrationFilters(owner=request.user.pk))))
    context = {"form": form, "rows": rows, "allowed": allowed}
    status = 422 if form.errors else 200
    return render_page(
        request, "tools/own_servers.html", context, frame=frame_of(request), status=status
    )


@login_required
@require_POST
def remove(request: PageRequest, slug: str) -> HttpResponse:
    """Remove one of the person's own servers."""
    if not remove_own_server(by=request.user, slug=slug):
        raise Http404
    messages.success(request, _("The server was removed, with its tools and its token."))
    return redirect("my-tools" if not are_own_servers_allowed() else "own-servers")


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def own_server_policy(request: PageRequest) -> HttpResponse:
    """Show everyone's own servers to admins, and let people add some, or no longer."""
    if request.method == "POST":
        allowed = request.POST.get("allowed") == "on"
        if allow_own_servers(by=request.user, allowed=allowed):
            message = _("People may add servers of their own.")
            messages.success(request, message if allowed else _("Nobody may add a server now."))
        return redirect("own-server-policy")
    owned = Integration.objects.exclude(owner=None).select_related("owner")
    context = {
        "allowed": are_own_servers_allowed(),
        "servers": owned.order_by("owner__username", "title", "pk")[:MOST_LISTED],
    }
    return render_page(request, "integrations/own_servers.html", context, frame=frame_of(request))

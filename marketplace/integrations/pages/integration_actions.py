"""Actions on an integration: check, enable, update, roll back, repair, uninstall."""

from uuid import uuid4

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from acl.pages.frame import PageRequest, frame_of, render_page
from acl.pages.staff_pages import admins_only, posted
from catalog.models import Integration
from catalog.servers.client.launch_rules import CommandNotAllowedError
from catalog.servers.net.outgoing_errors import EndpointNotAllowedError
from marketplace.installs import integration_management
from marketplace.installs.install_requests import (
    AlreadyInstalledError,
    NotPermittedError,
    TargetChangedError,
    retry_install,
)
from marketplace.integrations.health_check_request import check_now
from marketplace.integrations.integration_details import health_of
from marketplace.integrations.pages.integration_forms import UninstallForm
from marketplace.listings.listing_reviews import review_of
from marketplace.models import Installation

_REFUSED = (
    integration_management.NotReadyError,
    NotPermittedError,
    AlreadyInstalledError,
    CommandNotAllowedError,
    EndpointNotAllowedError,
    TargetChangedError,
)


@admins_only
@require_POST
def check(request: PageRequest, slug: str) -> HttpResponse:
    """Request a health check; the page shows the result."""
    row = get_object_or_404(Integration, slug=slug)
    newest = health_of(row).newest
    if not check_now(by=request.user, integration=row):
        messages.warning(request, "The queue is away: nobody could be asked to look.")
        return redirect("integration", slug)
    return redirect(f"{reverse('integration', args=[slug])}?since={newest}#health")


@admins_only
@require_POST
def switch(request: PageRequest, slug: str) -> HttpResponse:
    """Enable or disable the integration."""
    row = get_object_or_404(Integration, slug=slug)
    on = request.POST.get("enabled") == "on"
    try:
        integration_management.set_enabled(by=request.user, integration=row, enabled=on)
    except integration_management.NotReadyError as problem:
        messages.warning(request, str(problem))
    else:
        told = "can be used again." if on else "is switched off: nobody can use it."
        messages.success(request, f"{row.title} {told}")
    return redirect("integration", slug)


@admins_only
@require_POST
def retry(request: PageRequest, slug: str) -> HttpResponse:
    """Retry the failed installation."""
    row = get_object_or_404(Integration, slug=slug)
    last = Installation.objects.filter(integration=row).first()
    try:
        begun = last is not None and retry_install(by=request.user, installation=last)
    except NotPermittedError:
        messages.warning(request, "You may not start programs on this machine.")
        return redirect("integration", slug)
    if begun:
        messages.success(request, "It begins again. Its progress stands below.")
    else:
        messages.warning(request, "There is nothing that could begin again.")
    return redirect("integration", slug)


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def update(request: PageRequest, slug: str) -> HttpResponse:
    """Show what the update changes, or start it."""
    row = get_object_or_404(Integration, slug=slug)
    found = integration_management.pending_update(row)
    problem = ""
    if request.method == "POST":
        try:
            integration_management.start_update(
                by=request.user,
                integration=row,
                confirmed=request.POST.get("confirmed", ""),
                idempotency_key=request.POST.get("key", "")[:255],
            )
        except _REFUSED as refusal:
            problem = str(refusal) or "You may not start programs on this machine."
        else:
            messages.success(request, "The update has begun. Its progress stands below.")
            return redirect("integration", slug)
    context = {
        "integration": row,
        "update": found,
        "review": review_of(found.listing) if found else None,
        "digest": found.digest if found else "",
        "key": str(uuid4()),  # pressing the button twice is one update
        "command": " ".join(row.command),
        "problem": problem,
    }
    status = 422 if problem else 200
    return render_page(
        request, "integrations/update.html", context, frame=frame_of(request), status=status
    )


@admins_only
@require_POST
def roll_back(request: PageRequest, slug: str) -> HttpResponse:
    """Roll back the last update."""
    row = get_object_or_404(Integration, slug=slug)
    try:
        integration_management.roll_back(by=request.user, integration=row)
    except _REFUSED as problem:
        messages.warning(request, str(problem) or "You may not start programs on this machine.")
    else:
        messages.success(request, "The version before comes back. Its progress stands below.")
    return redirect("integration", slug)


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def repair(request: PageRequest, slug: str) -> HttpResponse:
    """Ask for confirmation, or start the repair."""
    row = get_object_or_404(Integration, slug=slug)
    if request.method != "POST":
        context = {"integration": row, "now": integration_management.current_installation(row)}
        return render_page(request, "integrations/repair.html", context, frame=frame_of(request))
    try:
        integration_management.repair(by=request.user, integration=row)
    except _REFUSED as problem:
        messages.warning(request, str(problem) or "You may not start programs on this machine.")
    else:
        messages.success(request, "It is put in place again. Its progress stands below.")
    return redirect("integration", slug)


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def uninstall(request: PageRequest, slug: str) -> HttpResponse:
    """Ask for the integration's name, then uninstall it."""
    row = get_object_or_404(Integration, slug=slug)
    form = UninstallForm(posted(request), integration=row)
    if form.is_bound and form.is_valid():
        integration_management.uninstall(by=request.user, integration=row)
        messages.success(request, f"{row.title} is gone.")
        return redirect("integrations")
    context = {
        "integration": row,
        "form": form,
        "tools": row.capabilities.count(),
        "secrets": row.secrets.count(),
    }
    status = 422 if form.errors else 200
    return render_page(
        request, "integrations/uninstall.html", context, frame=frame_of(request), status=status
    )

"""Progress page of an installation, and the actions on it."""

from collections.abc import Callable
from functools import partial
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from acl.web.frame import PageRequest, admins_only, frame_of, render_page
from catalog.access.grants import stored_access
from catalog.servers.cell.report import report_for
from discovery.example_requests.proposals import choose_tools
from marketplace.installs._progress import ENDED, build_progress, tools_to_try
from marketplace.installs.requests import (
    NotPermittedError,
    ToolsChangedError,
    approve_seen_install,
    cancel_install,
    confirm_install,
    retry_install,
)
from marketplace.installs.store_step import tools_digest
from marketplace.models import Installation


@admins_only
@require_GET
def installation(request: PageRequest, public_id: UUID) -> HttpResponse:
    """Show the progress. htmx polls, and gets 204 while nothing is new."""
    progress = build_progress(_find(public_id))
    if request.htmx and request.GET.get("seen") == progress.version:
        return HttpResponse(status=204)
    template = "installs/progress.html" + ("#progress" if request.htmx else "")
    frame, row = frame_of(request), progress.installation
    is_ready = row.state == Installation.State.READY
    tools = tools_to_try(row.integration, frame.caller) if is_ready else ()
    context = {"progress": progress, "installation": row, "tools": tools}
    if is_ready:
        examples = next((tool.examples or [tool.display_name] for tool in tools), [""])
        access = stored_access(row.integration)
        described_poorly = len(choose_tools(row.integration, ()))
        context |= {"has_access": not access.is_empty, "sample": examples[0]}
        context["described_poorly"] = described_poorly
    context |= {"seen": tools_digest(row.tools), "cells": report_for(row.command)}
    return render_page(request, template, context, frame=frame)


@admins_only
@require_POST
def confirm(request: PageRequest, public_id: UUID) -> HttpResponse:
    """Confirm the command of the version that was found."""
    confirmed = request.POST.get("confirmed", "")
    return _act_and_show(
        request,
        public_id,
        partial(confirm_install, confirmed=confirmed),
        _("The command was not confirmed: it has changed, or you are not allowed to install it."),
    )


@admins_only
@require_POST
def approve(request: PageRequest, public_id: UUID) -> HttpResponse:
    """Approve the tools that were shown."""
    digest = request.POST.get("seen", "")
    otherwise = _("Nothing is left to approve.")
    return _act_and_show(
        request, public_id, partial(approve_seen_install, digest=digest), otherwise
    )


@admins_only
@require_POST
def retry(request: PageRequest, public_id: UUID) -> HttpResponse:
    """Restart a failed or cancelled installation, optionally with the offered bounds."""
    offered = _find(public_id).offered if "offered" in request.POST else None
    return _act_and_show(
        request,
        public_id,
        partial(retry_install, constraints=offered),
        _(
            "It could not be restarted. It may be in progress or done, or you are not allowed to "
            "install it."
        ),
    )


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def cancel(request: PageRequest, public_id: UUID) -> HttpResponse:
    """Ask for confirmation, then cancel the installation."""
    row = _find(public_id)
    if request.method == "POST":
        if not cancel_install(by=request.user, installation=row):
            messages.warning(request, _("It could not be cancelled: it has already ended."))
        return redirect("installation", public_id)
    if row.state in ENDED:
        return redirect("installation", public_id)
    context = {"installation": row}
    return render_page(request, "installs/cancel.html", context, frame=frame_of(request))


def _act_and_show(
    request: PageRequest, public_id: UUID, act: Callable[..., bool], otherwise: str
) -> HttpResponse:
    """Run the action, warn if it was not possible, and return to the progress page."""
    try:
        done = act(by=request.user, installation=_find(public_id))
    except NotPermittedError:
        done = False
    except ToolsChangedError as changed:
        done, otherwise = False, str(changed)
    if not done:
        messages.warning(request, otherwise)
    return redirect("installation", public_id)


def _find(public_id: UUID) -> Installation:
    rows = Installation.objects.select_related("integration", "by")
    return get_object_or_404(rows, public_id=public_id)

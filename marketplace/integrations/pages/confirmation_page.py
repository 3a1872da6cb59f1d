"""Page for confirming the target of an imported integration."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods

from acl.pages.frame import PageRequest, frame_of, render_page
from acl.pages.staff_pages import admins_only
from catalog.models import Integration
from catalog.servers.client.launch_rules import CommandNotAllowedError
from catalog.servers.net.outgoing_errors import EndpointNotAllowedError
from marketplace.installs.install_requests import NotPermittedError
from marketplace.integrations.import_confirmation import (
    OtherTargetError,
    confirm_integration,
    target_to_confirm,
)


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def confirm(request: PageRequest, slug: str) -> HttpResponse:
    """Show the whole address or command, or confirm it."""
    row = get_object_or_404(Integration, slug=slug)
    problem = ""
    if request.method == "POST":
        problem = _confirm(request, row)
        if not problem:
            messages.success(request, f"{row.title} is confirmed. Its tools are read now.")
            return redirect("integration", slug)
        row.refresh_from_db()
    context = {"integration": row, "target": target_to_confirm(row), "problem": problem}
    return render_page(
        request,
        "integrations/confirm.html",
        context,
        frame=frame_of(request),
        status=422 if problem else 200,
    )


def _confirm(request: PageRequest, row: Integration) -> str:
    """Confirm the target. Return an error message, or ""."""
    try:
        done = confirm_integration(
            by=request.user, integration=row, confirmed=request.POST.get("confirmed", "")
        )
    except OtherTargetError:
        return "It reaches something else by now. This is what it reaches."
    except NotPermittedError:
        return "You may not start programs on this machine."
    except (CommandNotAllowedError, EndpointNotAllowedError) as refused:
        return str(refused)
    return "" if done else "It is confirmed already."

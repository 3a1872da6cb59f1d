"""Pages on which admins decide: about new and changed definitions, and an imported target."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from acl.web.frame import PageRequest, admins_only, frame_of, render_page
from catalog.models import Integration
from catalog.registration.definition_review import ChangedSinceError, NotReadableError
from catalog.servers.client.launch_rules import CommandNotAllowedError
from catalog.servers.net.address_check import EndpointNotAllowedError
from marketplace.installs.requests import NotPermittedError
from marketplace.integrations import review_decisions
from marketplace.integrations.review_decisions import (
    OtherTargetError,
    confirm_integration,
    target_to_confirm,
)

PAGE = 20
CHANGED = gettext_lazy("It has changed since you opened the page. This is the current state.")


@admins_only
@require_GET
def review(request: PageRequest, slug: str) -> HttpResponse:
    """Show the definitions of an integration to review."""
    return _show(request, get_object_or_404(Integration, slug=slug))


@admins_only
@require_POST
def decide(request: PageRequest, slug: str) -> HttpResponse:
    """Approve, reject or remove a tool, or approve all pending tools."""
    row = get_object_or_404(Integration, slug=slug)
    try:
        message = _decided(request, row)
    except ChangedSinceError:
        return _show(request, row, problem=str(CHANGED), status=409)
    except NotReadableError as problem:
        return _show(request, row, problem=str(problem), status=409)
    if not message:
        return _show(request, row, problem=_("Nothing is left to review."), status=409)
    messages.success(request, message)
    return redirect("integration-review", slug)


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def confirm(request: PageRequest, slug: str) -> HttpResponse:
    """Show the whole address or command, or confirm it."""
    row = get_object_or_404(Integration, slug=slug)
    problem = ""
    if request.method == "POST":
        problem = _confirm(request, row)
        if not problem:
            messages.success(
                request,
                _("%(title)s was confirmed. Pegboard is reading its tools.") % {"title": row.title},
            )
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


def _decided(request: PageRequest, row: Integration) -> str:
    """Carry out the decision and return a message, or "" if nothing was pending."""
    decision, name = request.POST.get("decision", ""), request.POST.get("name", "")
    digest, by = request.POST.get("seen", ""), request.user
    if decision == "approve-all":
        number = review_decisions.approve_all(by=by, integration=row, digest=digest)
        words = ngettext(
            "%(number)d definition was approved.", "%(number)d definitions were approved.", number
        )
        return words % {"number": number} if number else ""
    if decision == "remove":
        removed = review_decisions.remove(by=by, integration=row, name=name)
        done = _("%(name)s was removed, with its access rights.") % {"name": name}
        return done if removed else ""
    if decision == "approve":
        review_decisions.approve(by=by, integration=row, digests={name: digest})
        return _("%(name)s was approved.") % {"name": name}
    if decision == "approve-apart":
        review_decisions.approve(by=by, integration=row, digests={name: digest}, apart=[name])
        done = _("%(name)s was approved. Nothing of the old name holds for it.")
        return done % {"name": name}
    if decision == "reject":
        review_decisions.keep_out(by=by, integration=row, digests={name: digest})
        return _("%(name)s was rejected until its server changes it.") % {"name": name}
    return ""


def _show(
    request: PageRequest, row: Integration, *, problem: str = "", status: int = 200
) -> HttpResponse:
    installation = review_decisions.waiting_install(row)
    to_review = review_decisions.to_review(row, installation)
    page = Paginator(to_review.changes, PAGE).get_page(request.GET.get("page"))
    context = {
        "integration": row,
        "installation": installation,
        "is_update": to_review.is_update,
        "changes": [make() for make in page.object_list],
        "about": review_decisions.about_server(row),
        "waiting": to_review.waiting,
        "seen": review_decisions.seen_of(row),
        "found": {"page": page.number, "pages": page.paginator.num_pages},
        "problem": problem,
    }
    frame = frame_of(request)
    return render_page(request, "integrations/review.html", context, frame=frame, status=status)


def _confirm(request: PageRequest, row: Integration) -> str:
    """Confirm the target. Return an error message, or ""."""
    try:
        done = confirm_integration(
            by=request.user, integration=row, confirmed=request.POST.get("confirmed", "")
        )
    except OtherTargetError:
        return _("The target has changed. This is the current one.")
    except NotPermittedError:
        return _("You are not allowed to start programs on this machine.")
    except (CommandNotAllowedError, EndpointNotAllowedError) as refused:
        return str(refused)
    return "" if done else _("It is already confirmed.")

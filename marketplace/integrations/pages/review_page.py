"""Page for reviewing new and changed tool definitions, with the scanner's findings."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_GET, require_POST

from acl.pages.frame import PageRequest, frame_of, render_page
from acl.pages.staff_pages import admins_only
from catalog.models import Integration
from catalog.registration.definition_review import ChangedSinceError, NotReadableError
from marketplace.integrations import review_decisions

PAGE = 20
CHANGED = "It has changed since you looked. This is what it says now."


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
        told = _decided(request, row)
    except ChangedSinceError:
        return _show(request, row, problem=CHANGED, status=409)
    except NotReadableError as problem:
        return _show(request, row, problem=str(problem), status=409)
    if not told:
        return _show(request, row, problem="Nothing of it waits any longer.", status=409)
    messages.success(request, told)
    return redirect("integration-review", slug)


def _decided(request: PageRequest, row: Integration) -> str:
    """Carry out the decision and return a message, or "" if nothing was pending."""
    decision, name = request.POST.get("decision", ""), request.POST.get("name", "")
    seen, by = request.POST.get("seen", ""), request.user
    if decision == "approve-all":
        number = review_decisions.approve_all(by=by, integration=row, seen=seen)
        return f"{number} approved." if number else ""
    if decision == "remove":
        removed = review_decisions.remove(by=by, integration=row, name=name)
        return f"{name} is removed, with its rights." if removed else ""
    if decision == "approve":
        review_decisions.approve(by=by, integration=row, seen={name: seen})
        return f"{name} is approved as it stands."
    if decision == "reject":
        review_decisions.keep_out(by=by, integration=row, seen={name: seen})
        return f"{name} stays out until its server says something else of it."
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

"""Pages of access requests."""

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from acl.models import AccessRequest
from acl.rights.access_requests import RequestAnswered, decline_request
from acl.web.frame import PageRequest, admins_only, part_of, posted, render_access
from catalog.access._group_overview import find_targets
from catalog.access.grant_suggestions import suggest_grants
from catalog.access.grants import grant_requested
from catalog.access.pages.access_forms import AnswerForm, GrantForm, SearchForm

PAGE_SIZE = 50


@admins_only
@require_GET
def inbox(request: PageRequest) -> HttpResponse:
    """List open requests, oldest first, or answered ones, newest first."""
    form = SearchForm(request.GET)
    answered = request.GET.get("show") == "answered"
    rows = _requests(answered, form.words())
    count = rows.count()
    pages = max(1, -(-count // PAGE_SIZE))
    page = min(form.page_number(), pages)
    context = {
        "form": form,
        "answered": answered,
        "requests": rows[(page - 1) * PAGE_SIZE : page * PAGE_SIZE],
        "found": {"count": count, "page": page, "pages": pages},
    }
    template = part_of(request, "requests.html", "found")
    return render_access(request, template, context, tab="requests")


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def answer(request: PageRequest, pk: int) -> HttpResponse:
    """Show a request; POST grants it with a target, or declines it."""
    access_request = get_object_or_404(_all(), pk=pk)
    declining = "decline" in request.POST
    form = GrantForm(None if declining else posted(request))
    no = AnswerForm(request.POST if declining else None)
    problem = ""
    if request.method == "POST" and (no if declining else form).is_valid():
        try:
            if declining:
                decline_request(
                    by=request.user, request=access_request, note=no.cleaned_data["note"]
                )
            else:
                _grant(request, access_request, form)
        except RequestAnswered as conflict:
            problem = str(conflict)
        else:
            declined, granted = (
                _("Request by %(user)s declined."),
                _("Request by %(user)s granted."),
            )
            messages.success(
                request, (declined if declining else granted) % {"user": access_request.user}
            )
            return redirect("access-requests")
    words = request.POST.get("target_q", request.GET.get("target_q", ""))
    context = {
        "asked": access_request,
        "form": form,
        "no": no,
        "problem": problem,
        "found": find_targets(words),
        "words": words,
        "suggestions": suggest_grants(access_request)
        if access_request.state == AccessRequest.State.OPEN
        else (),
    }
    status = 409 if problem else 422 if form.errors or no.errors else 200
    return render_access(request, "answer.html", context, tab="requests", status=status)


def _grant(request: PageRequest, access_request: AccessRequest, form: GrantForm) -> None:
    data = form.cleaned_data
    grant_requested(
        by=request.user,
        request=access_request,
        target=data["target"],
        to_group=data["whom"] == "group",
        note=data["note"],
    )


def _requests(answered: bool, words: str) -> "QuerySet[AccessRequest]":
    rows = _all()
    for word in words.split()[:8]:
        rows = rows.filter(wish__icontains=word) | rows.filter(user__username__icontains=word)
    if answered:
        return rows.exclude(state=AccessRequest.State.OPEN).order_by("-answered_at", "-pk")
    return rows.filter(state=AccessRequest.State.OPEN).order_by("created_at", "pk")


def _all() -> "QuerySet[AccessRequest]":
    return AccessRequest.objects.select_related("user", "group", "answered_by")

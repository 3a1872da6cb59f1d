"""Pages of My tools: the list and one tool; access requests, one's own and those to answer."""

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_http_methods

from acl.models import AccessRequest
from acl.rights.access_requests import (
    RequestAnswered,
    TooManyRequests,
    decline_request,
    request_access,
)
from acl.web.frame import (
    PageRequest,
    admins_only,
    frame_of,
    part_of,
    posted,
    render_access,
    render_page,
)
from acl.web.markdown import safe_html
from catalog.access._group_overview import find_targets
from catalog.access.grant_suggestions import suggest_grants
from catalog.access.grants import grant_requested
from catalog.access.my_tools import ToolFilters, find_my_tool, list_my_tools
from catalog.access.pages.access_forms import AnswerForm, GrantForm, SearchForm
from catalog.models import Capability
from catalog.schemas import list_parameters

KINDS = [("", gettext_lazy("All kinds")), *Capability.Kind.choices]
SHOWN = [
    ("", gettext_lazy("All tools")),
    ("runs", gettext_lazy("Runs without approval")),
    ("asks", gettext_lazy("Needs approval")),
    ("missing", gettext_lazy("Not working")),
]


class ToolsForm(forms.Form):
    """Filters of My tools; invalid values are ignored."""

    q = forms.CharField(required=False, max_length=200)
    category = forms.CharField(required=False, max_length=60)
    kind = forms.ChoiceField(required=False, choices=KINDS)
    show = forms.ChoiceField(required=False, choices=SHOWN)
    page = forms.IntegerField(required=False, min_value=1, max_value=1_000_000)

    def filters(self) -> ToolFilters:
        """Return the filters as the service takes them."""
        self.full_clean()
        data = self.cleaned_data
        return ToolFilters(
            words=data.get("q", ""),
            category=data.get("category", ""),
            kind=data.get("kind", ""),
            show=data.get("show", ""),
            page=data.get("page") or 1,
        )


class RequestForm(forms.ModelForm):
    """An access request in the person's own words."""

    class Meta:
        model = AccessRequest
        fields = ["wish"]
        error_messages = {
            "wish": {"required": gettext_lazy("Describe in a few words what you need.")}
        }


LONGEST_WISH = 200  # of a text prefilled by the URL


@login_required
@require_GET
def my_tools(request: PageRequest) -> HttpResponse:
    """Show the tools that the person may use, by category."""
    frame = frame_of(request)
    form = ToolsForm(request.GET)
    if frame.caller is None:
        return render_page(request, "no_group.html", {"title": _("My tools")}, frame=frame)
    tools = list_my_tools(caller=frame.caller, filters=form.filters())
    template = "tools/my_tools.html" + ("#found" if request.htmx else "")
    return render_page(request, template, {"form": form, "found": tools}, frame=frame)


@login_required
@require_GET
def tool(request: PageRequest, full_name: str) -> HttpResponse:
    """Show one capability, as a page or in the panel beside the list."""
    frame = frame_of(request)
    mine = find_my_tool(caller=frame.caller, full_name=full_name) if frame.caller else None
    if mine is None:
        raise Http404
    capability = mine.capability
    context = {
        "mine": mine,
        "parameters": list_parameters(capability.input_schema),
        "content": safe_html(capability.content),
    }
    template = "tools/tool.html" + ("#detail" if request.htmx else "")
    return render_page(request, template, context, frame=frame)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def requests(request: PageRequest) -> HttpResponse:
    """Show the person's access requests, and a form for another."""
    frame = frame_of(request)
    if frame.caller is None:
        context = {"title": _("Request access")}
        return render_page(request, "no_group.html", context, frame=frame)
    # The marketplace links here with the name of the missing tool.
    wish = request.GET.get("wish", "")[:LONGEST_WISH]
    form = RequestForm(request.POST or None, initial={"wish": wish})
    if request.method == "POST" and form.is_valid():
        try:
            request_access(by=request.user, caller=frame.caller, wish=form.cleaned_data["wish"])
        except TooManyRequests as problem:
            form.add_error("wish", str(problem))
        else:
            messages.success(request, _("Your request was sent. An admin will review it."))
            return redirect("requests")
    mine = AccessRequest.objects.select_related("group", "answered_by")
    mine = mine.filter(user=request.user)[:50]
    page_context = {"form": form, "requests": mine}
    status = 422 if form.errors else 200
    return render_page(request, "tools/requests.html", page_context, frame=frame, status=status)


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

"""Pages of the log of calls: the list with its filters, one call, the download, and policies."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import Group, User
from django.http import Http404, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_POST

from acl.web.frame import PageRequest, admins_only, frame_of, render_page
from acl.web.open_streams import EVENTS, answer_with_events
from catalog.access.pages.access_forms import SearchForm
from discovery.calls._policy import longest_days, set_policy
from discovery.calls._result_parts import outcome_of
from discovery.calls.arguments import list_uncompared, render_call
from discovery.calls.channel import release_connection
from discovery.calls.log import (
    MOST_COUNTED,
    CallFilter,
    Cursor,
    WrongCursorError,
    count_calls,
    csv_of,
    filter_calls,
    log_of,
    midnight,
    milliseconds_of,
    page_of_calls,
)
from discovery.calls.log_api import Mark, follow_log, log_streams, mark_of
from discovery.calls.queries import blank_lost_names, find_call
from discovery.models import Call
from discovery.models.call import Content
from discovery.models.call_policy import LONGEST_DAYS

DAY: dict[str, Any] = {
    "required": False,
    "error_messages": {"invalid": gettext_lazy("Enter a date such as 2026-11-30.")},
}
MOST_GROUPS = 200


class CallsForm(forms.Form):
    """Filters of the log. An invalid day is an error; other invalid values match nothing."""

    tool = forms.CharField(required=False, max_length=64)
    user = forms.CharField(required=False, max_length=150)
    group = forms.CharField(required=False, max_length=150)
    integration = forms.CharField(required=False, max_length=64)
    key = forms.CharField(required=False, max_length=12)
    state = forms.ChoiceField(required=False, choices=[("", ""), *Call.State.choices])
    turn = forms.UUIDField(required=False)
    since = forms.DateField(**DAY)
    until = forms.DateField(**DAY)
    before = forms.CharField(required=False, max_length=60)
    after = forms.CharField(required=False, max_length=60)

    def filters(self) -> CallFilter:
        """Return the filters as the service takes them; days are whole days in UTC."""
        self.full_clean()
        data = self.cleaned_data
        since, until = data.get("since"), data.get("until")
        names = ("tool", "user", "group", "integration", "key", "state")
        return CallFilter(
            **{name: data.get(name, "") for name in names},
            turn=data.get("turn"),
            since=midnight(since) if since else None,
            until=midnight(until + timedelta(days=1)) if until else None,
        )

    def place(self) -> tuple[Cursor | None, Cursor | None]:
        """Return the cursors before and after which the page begins; a wrong one is none."""
        return self._cursor("before"), self._cursor("after")

    def _cursor(self, name: str) -> Cursor | None:
        try:
            return Cursor.parse(self.cleaned_data.get(name, ""))
        except WrongCursorError:
            return None


@login_required
@require_GET
def calls(request: PageRequest) -> HttpResponseBase:
    """Show the newest matching calls; htmx requests only these.

    Who accepts events gets a stream that says when to read them again.
    """
    form, everyone = CallsForm(request.GET), _of_everyone(request)
    filters = form.filters()
    if request.headers.get("Accept") == EVENTS:
        return _follow(request, filters, everyone=everyone)
    matching = filter_calls(log_of(request.user, everyone=everyone), filters)
    before, after = form.place()
    page = page_of_calls(matching, before=before, after=after, is_own=not everyone)
    count = count_calls(matching)
    live = request.GET.get("live") == "1" and not (before or after)
    groups = Group.objects.all() if everyone else request.user.groups.all()
    context = {
        "form": form,
        "everyone": everyone,
        "found": page,
        "rows": [(call, milliseconds_of(call)) for call in page.calls],
        "count": min(count, MOST_COUNTED),
        "counted_all": count <= MOST_COUNTED,
        "filtered": not filters.is_empty,
        "live": live,
        "states": Call.State.choices,
        "groups": list(groups.order_by("name", "pk").values_list("name", flat=True)[:MOST_GROUPS]),
    }
    template = "calls/log.html" + ("#found" if request.htmx else "")
    return render_page(request, template, context, frame=frame_of(request))


def _follow(request: PageRequest, filters: CallFilter, *, everyone: bool) -> HttpResponseBase:
    """Stream the log's changes; 204, by which browsers stop asking, if there is no place."""
    user, session = request.user, request.session

    def look() -> Mark | None:
        try:
            reader = User.objects.filter(pk=user.pk, is_active=True).first()
            if reader is None or not session.exists(session.session_key or ""):
                return None
            log = log_of(reader, everyone=everyone and reader.is_staff)
            return mark_of(filter_calls(log, filters))
        finally:
            release_connection()

    if not log_streams.take(user.pk):
        return HttpResponse(status=204)
    changes = follow_log(look, user.pk)
    next(changes)
    return answer_with_events(changes, request.META)


@login_required
@require_GET
def download(request: PageRequest) -> StreamingHttpResponse:
    """Stream the matching calls as CSV, newest first."""
    form = CallsForm(request.GET)
    filters = form.filters()
    if form.errors:
        raise Http404  # the page shows the error and offers no such link
    everyone = _of_everyone(request)
    matching = filter_calls(log_of(request.user, everyone=everyone), filters)
    lines = csv_of(matching, is_own=not everyone)
    response = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    name = f"pegboard-calls-{datetime.now(UTC):%Y-%m-%d}.csv"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Cache-Control"] = "no-store"
    return response


@login_required
@require_GET
def call(request: PageRequest, pk: UUID) -> HttpResponse:
    """Show a call. Arguments and result are for its own people, as long as they may use the
    tool."""
    readable = find_call(principal=request.user, pk=pk)
    mine = readable if readable is not None and readable.capability else None
    row = mine or _find_listed(request, pk)
    if row is None:
        raise Http404
    tool = row.capability
    context = {
        "call": row,
        "mine": mine is not None,
        "own": row.user_id == request.user.pk,
        "milliseconds": milliseconds_of(row),
        "is_current": tool is not None and tool.definition_hash == row.definition_hash,
    }
    if mine is not None:
        rendering = render_call(mine)
        done, parts = outcome_of(mine)
        context |= {
            "rendering": rendering,
            "differences": list_uncompared(rendering),
            "done": done,
            "parts": parts,
        }
    return render_page(request, "calls/call.html", context, frame=frame_of(request))


def _find_listed(request: PageRequest, pk: UUID) -> Call | None:
    """Return a call that the log lists to this person, without what only its user may read, and
    to other people than admins without its tool, which they may no longer use."""
    for everyone in (False, True):
        listed = log_of(request.user, everyone=everyone).filter(pk=pk)
        rows = listed.select_related(
            "user", "group", "actor", "decided_by", "capability__integration"
        )
        if (row := rows.first()) is not None:
            if not request.user.is_staff:
                blank_lost_names([row])
                row.capability = None
            row.arguments_json, row.result_json, row.message, row.flow = "{}", "", "", {}
            return row
    return None


def _of_everyone(request: PageRequest) -> bool:
    """Return True if an admin looks at all calls, which is what admins begin with."""
    return request.user.is_staff and request.GET.get("whose") != "own"


# The groups' policies on what is kept of their calls.

POLICIES_ON_PAGE = 50


class PolicyForm(forms.Form):
    """Form of a group's policy."""

    content = forms.TypedChoiceField(choices=Content.choices, coerce=int)
    days = forms.IntegerField(required=False, min_value=1, max_value=LONGEST_DAYS)


@admins_only
@require_GET
def call_policies(request: PageRequest) -> HttpResponse:
    """List the groups with their policies."""
    return _policies_page(request)


@admins_only
@require_POST
def set_call_policy(request: PageRequest, pk: int) -> HttpResponse:
    """Set the policy of a group."""
    group, form = get_object_or_404(Group, pk=pk), PolicyForm(request.POST)
    if not form.is_valid():
        return _policies_page(request, group=group, form=form)
    set_policy(by=request.user, group=group, **form.cleaned_data)
    messages.success(request, _("%(group)s: saved.") % {"group": group.name})
    return redirect("call-policies")


def _policies_page(
    request: PageRequest, *, group: Group | None = None, form: PolicyForm | None = None
) -> HttpResponse:
    search = SearchForm(request.GET)
    groups = Group.objects.select_related("call_policy").order_by("name", "pk")
    groups = groups.filter(pk=group.pk) if group else groups.filter(name__icontains=search.words())
    count = groups.count()
    pages = max(1, -(-count // POLICIES_ON_PAGE))
    page = min(search.page_number(), pages)
    rows = [
        (policy_group, getattr(policy_group, "call_policy", None))
        for policy_group in groups[(page - 1) * POLICIES_ON_PAGE : page * POLICIES_ON_PAGE]
    ]
    context = {
        "form": search,
        "wrong": form,
        "rows": rows,
        "found": {"count": count, "page": page, "pages": pages},
        "contents": Content.choices,
        "longest": longest_days(),
    }
    template = "calls/policies.html" + ("#found" if request.htmx else "")
    status = 422 if form else 200
    return render_page(request, template, context, frame=frame_of(request), status=status)

"""Pages of the audit log: filtered entries, the check of its chain, and downloads."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from django import forms
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_POST

from acl.audit.log import (
    MOST_COUNTED,
    EntryFilter,
    count_entries,
    csv_lines,
    detail_rows,
    json_lines,
    log_head,
    page_of_entries,
    recorded_actions,
    recorded_names,
    stream_entries,
)
from acl.audit.log_verification import Checked, check_log
from acl.web.frame import PageRequest, admins_only, frame_of, render_page

MOST_CHECKED = 20_000  # a second or two; all of it is for the command
DAY = {
    "required": False,
    "error_messages": {"invalid": gettext_lazy("Enter a date such as 2026-11-30.")},
}
Lines = Callable[..., Iterator[str]]
EXPORTS: dict[str, tuple[str, Lines]] = {
    "csv": ("text/csv", csv_lines),
    "jsonl": ("application/jsonl", json_lines),
}


class AuditForm(forms.Form):
    """Filters of the audit log. An invalid day is an error; other invalid values do not filter."""

    by = forms.CharField(required=False, max_length=150)
    action = forms.CharField(required=False, max_length=60)
    target = forms.CharField(required=False, max_length=200)
    since = forms.DateField(**DAY)  # type: ignore[arg-type]
    until = forms.DateField(**DAY)  # type: ignore[arg-type]
    before = forms.IntegerField(required=False, min_value=0, max_value=2**62)
    after = forms.IntegerField(required=False, min_value=0, max_value=2**62)

    def filters(self) -> EntryFilter:
        """Return the filters as the service takes them."""
        self.full_clean()
        data = self.cleaned_data
        names = ("by", "action", "target")
        return EntryFilter(
            **{name: data.get(name, "") for name in names},
            since=data.get("since"),
            until=data.get("until"),
        )

    def place(self) -> dict[str, int | None]:
        """Return the id of the entry beside which the page begins."""
        return {name: self.cleaned_data.get(name) for name in ("before", "after")}


@admins_only
@require_GET
def audit(request: PageRequest) -> HttpResponse:
    """Show the newest matching entries; htmx requests only these."""
    return _page(request, part="#found")


@admins_only
@require_POST
def check(request: PageRequest) -> HttpResponse:
    """Check the chain and show its state; htmx requests only the state."""
    return _page(request, part="#chain", checked=check_log(most=MOST_CHECKED))


@admins_only
@require_GET
def export(request: PageRequest, kind: str) -> StreamingHttpResponse:
    """Stream all matching entries, oldest first."""
    form = AuditForm(request.GET)
    filters = form.filters()
    if form.errors:
        raise Http404  # the page shows the error and offers no such link
    content_type, lines = EXPORTS[kind]
    response = StreamingHttpResponse(
        lines(stream_entries(filters)), content_type=f"{content_type}; charset=utf-8"
    )
    name = f"pegboard-audit-{datetime.now(UTC):%Y-%m-%d}.{kind}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Cache-Control"] = "no-store"
    return response


def _page(request: PageRequest, *, part: str, checked: Checked | None = None) -> HttpResponse:
    form = AuditForm(request.GET)
    filters = form.filters()
    entry_page = page_of_entries(filters, **form.place())
    count, is_filtered = count_entries(filters), filters != EntryFilter()
    context = {
        "form": form,
        "found": entry_page,
        "rows": [(entry, detail_rows(entry.details)) for entry in entry_page.entries],
        "count": min(count, MOST_COUNTED) if is_filtered else count,
        "counted_all": count <= MOST_COUNTED or not is_filtered,
        "filtered": is_filtered,
        "actions": recorded_actions(),
        "names": recorded_names(),
        "head": log_head(),
        "checked": checked,
        "most_checked": MOST_CHECKED,
    }
    template = "audit/log.html" + (part if request.htmx else "")
    return render_page(request, template, context, frame=frame_of(request))

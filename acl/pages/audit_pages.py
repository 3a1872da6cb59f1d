"""The audit log: what was changed by whom, whether the log is whole, and taking it elsewhere."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.views.decorators.http import require_GET, require_POST

from acl.audit.audit_export import csv_lines, json_lines
from acl.audit.audit_log import (
    MOST_COUNTED,
    WantedEntries,
    count_entries,
    log_head,
    page_of_entries,
    recorded_actions,
    recorded_names,
    stream_entries,
)
from acl.audit.entry_details import rows_of
from acl.audit.log_verification import Checked, check_log
from acl.pages.audit_forms import AuditForm
from acl.pages.frame import PageRequest, frame_of, render_page
from acl.pages.staff_pages import admins_only

MOST_CHECKED = 20_000  # a second or two; all of it is for the command
Lines = Callable[..., Iterator[str]]
EXPORTS: dict[str, tuple[str, Lines]] = {
    "csv": ("text/csv", csv_lines),
    "jsonl": ("application/jsonl", json_lines),
}


@admins_only
@require_GET
def audit(request: PageRequest) -> HttpResponse:
    """Show the newest matching entries; htmx requests only these."""
    return _page(request, part="#found")


@admins_only
@require_POST
def check(request: PageRequest) -> HttpResponse:
    """The same page with the state of the chain; htmx takes only the state."""
    return _page(request, part="#chain", checked=check_log(most=MOST_CHECKED))


@admins_only
@require_GET
def export(request: PageRequest, kind: str) -> StreamingHttpResponse:
    """Stream all matching entries, oldest first."""
    form = AuditForm(request.GET)
    wanted = form.wanted()
    if form.errors:
        raise Http404  # the page tells what is wrong, and offers no such link
    content_type, lines = EXPORTS[kind]
    response = StreamingHttpResponse(
        lines(stream_entries(wanted)), content_type=f"{content_type}; charset=utf-8"
    )
    name = f"pegboard-audit-{datetime.now(UTC):%Y-%m-%d}.{kind}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Cache-Control"] = "no-store"
    return response


def _page(request: PageRequest, *, part: str, checked: Checked | None = None) -> HttpResponse:
    form = AuditForm(request.GET)
    wanted = form.wanted()
    found = page_of_entries(wanted, **form.place())
    count = count_entries(wanted)
    context = {
        "form": form,
        "found": found,
        "rows": [(entry, rows_of(entry.details)) for entry in found.entries],
        "count": min(count, MOST_COUNTED) if wanted != WantedEntries() else count,
        "counted_all": count <= MOST_COUNTED or wanted == WantedEntries(),
        "filtered": wanted != WantedEntries(),
        "actions": recorded_actions(),
        "names": recorded_names(),
        "head": log_head(),
        "checked": checked,
        "most_checked": MOST_CHECKED,
    }
    template = "audit/log.html" + (part if request.htmx else "")
    return render_page(request, template, context, frame=frame_of(request))

"""Admin pages of sources: list, add, details, refresh, remove."""

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from acl.web.frame import PageRequest, admins_only, frame_of, render_page
from catalog.formats.files import RefusedError
from catalog.servers.net.address_check import EndpointNotAllowedError
from marketplace.models import Source
from marketplace.offers.kinds.registry import ADDED_KINDS, KINDS
from marketplace.offers.offer import LocationNotAllowedError
from marketplace.sources.subscriptions import (
    BuiltInSourceError,
    NotRefreshableError,
    add_source,
    change_source,
    list_sources,
    remove_source,
    request_refresh,
    source_details,
)

TEMPLATES = "sources/"
# Choices of the refresh interval, in hours.
SCHEDULES = [
    ("1", gettext_lazy("Every hour")),
    ("6", gettext_lazy("Every six hours")),
    ("24", gettext_lazy("Every day")),
    ("168", gettext_lazy("Every week")),
    ("0", gettext_lazy("Manually")),
]


class AddSourceForm(forms.Form):
    """Form for a new source."""

    kind = forms.ChoiceField(choices=ADDED_KINDS)
    location = forms.CharField(max_length=500)
    title = forms.CharField(max_length=200, required=False)
    schedule_hours = forms.TypedChoiceField(choices=SCHEDULES, coerce=int, initial="24")


class ChangeSourceForm(forms.Form):
    """Form for the settings of a source."""

    enabled = forms.BooleanField(required=False)
    schedule_hours = forms.IntegerField(min_value=0, max_value=8_760)


@admins_only
@require_GET
def sources(request: PageRequest) -> HttpResponse:
    """Show all sources. While one is being read, htmx polls for the list only."""
    rows = list(list_sources())
    context = {"sources": rows, "busy": any(entry.is_under_way for entry in rows)}
    template = f"{TEMPLATES}list.html" + ("#found" if request.htmx else "")
    return render_page(request, template, context, frame=frame_of(request))


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def add(request: PageRequest) -> HttpResponse:
    """Show the form, or add the source and start reading it."""
    usual = {name: request.GET.get(name, "") for name in ("kind", "location", "title")}
    form = AddSourceForm(request.POST if request.method == "POST" else None, initial=usual)
    if form.is_bound and form.is_valid():
        try:
            source = add_source(by=request.user, **form.cleaned_data)
        except (EndpointNotAllowedError, LocationNotAllowedError) as refused:
            form.add_error("location", str(refused))
        except RefusedError as refused:
            form.add_error("location", _("This location %(reason)s.") % {"reason": refused.reason})
        else:
            return redirect("source", slug=source.slug)
    context = {
        "form": form,
        "kinds": [(name, label, KINDS[name].HINT) for name, label in ADDED_KINDS],
        "suggested": [
            (name, *suggested) for name, kind in KINDS.items() for suggested in kind.SUGGESTED
        ],
    }
    status = 422 if form.errors else 200
    return render_page(
        request, f"{TEMPLATES}add.html", context, frame=frame_of(request), status=status
    )


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def source(request: PageRequest, slug: str) -> HttpResponse:
    """Show a source with its defects, or change its settings."""
    details = source_details(slug=slug, page=request.GET.get("page", ""))
    if details is None:
        raise Http404
    form = ChangeSourceForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            change_source(by=request.user, source=details.source, **form.cleaned_data)
        except BuiltInSourceError as refused:
            messages.error(request, str(refused))
        return redirect("source", slug=slug)
    context = {
        "details": details,
        "source": details.source,
        "form": form,
        "schedules": AddSourceForm.base_fields["schedule_hours"].choices,  # type: ignore[attr-defined]
    }
    template = f"{TEMPLATES}source.html" + ("#standing" if request.htmx else "")
    status = 422 if form.errors else 200
    return render_page(request, template, context, frame=frame_of(request), status=status)


@admins_only
@require_POST
def refresh(request: PageRequest, slug: str) -> HttpResponse:
    """Queue a reading, and return to the page it was requested from."""
    row = get_object_or_404(Source, slug=slug)
    try:
        request_refresh(by=request.user, source=row)
    except NotRefreshableError as refused:
        messages.error(request, str(refused))
    return redirect(
        "sources" if "list" in request.POST else "source",
        *(() if "list" in request.POST else (slug,)),
    )


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def remove(request: PageRequest, slug: str) -> HttpResponse:
    """Ask for confirmation with what will be lost, then remove the source."""
    details = source_details(slug=slug)
    if details is None or not details.source.is_added:
        raise Http404
    if request.method == "POST":
        remove_source(by=request.user, source=details.source)
        messages.success(request, _("%(title)s was removed.") % {"title": details.source.title})
        return redirect("sources")
    context = {"details": details, "source": details.source}
    return render_page(request, f"{TEMPLATES}remove.html", context, frame=frame_of(request))

"""Where listings come from, for admins: which sources there are, adding one, what it gave."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from acl.pages.frame import PageRequest, frame_of, render_page
from acl.pages.staff_pages import admins_only
from catalog.formats.files import RefusedError
from catalog.servers.net.outgoing_errors import EndpointNotAllowedError
from marketplace.models import Source
from marketplace.sources.source_details import list_sources, source_details
from marketplace.sources.source_forms import HINTS, SUGGESTED, AddSourceForm, ChangeSourceForm
from marketplace.sources.source_problem import LocationNotAllowedError
from marketplace.sources.subscriptions import (
    NotRefreshableError,
    SourceOfOursError,
    add_source,
    change_source,
    remove_source,
    request_refresh,
)

FOLDER = "sources/"


@admins_only
@require_GET
def sources(request: PageRequest) -> HttpResponse:
    """All of them; htmx takes only the list, while something is being read."""
    found = list(list_sources())
    context = {"sources": found, "busy": any(one.is_under_way for one in found)}
    template = f"{FOLDER}list.html" + ("#found" if request.htmx else "")
    return render_page(request, template, context, frame=frame_of(request))


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def add(request: PageRequest) -> HttpResponse:
    """The form; or the new source, which is read at once."""
    usual = {name: request.GET.get(name, "") for name in ("kind", "location", "title")}
    form = AddSourceForm(request.POST if request.method == "POST" else None, initial=usual)
    if form.is_bound and form.is_valid():
        try:
            source = add_source(by=request.user, **form.cleaned_data)
        except (EndpointNotAllowedError, LocationNotAllowedError) as refused:
            form.add_error("location", str(refused))
        except RefusedError as refused:
            form.add_error("location", f"This {refused.reason}.")
        else:
            return redirect("source", slug=source.slug)
    kinds = [(value, label, HINTS[value]) for value, label in form.fields["kind"].choices]  # type: ignore[attr-defined]
    context = {"form": form, "kinds": kinds, "suggested": SUGGESTED}
    status = 422 if form.errors else 200
    return render_page(
        request, f"{FOLDER}add.html", context, frame=frame_of(request), status=status
    )


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def source(request: PageRequest, slug: str) -> HttpResponse:
    """How it stands, and every entry that was not taken; or it is changed."""
    details = source_details(slug=slug, page=request.GET.get("page", ""))
    if details is None:
        raise Http404
    form = ChangeSourceForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            change_source(by=request.user, source=details.source, **form.cleaned_data)
        except SourceOfOursError as refused:
            messages.error(request, str(refused))
        return redirect("source", slug=slug)
    context = {
        "details": details,
        "source": details.source,
        "form": form,
        "schedules": AddSourceForm.base_fields["schedule_hours"].choices,  # type: ignore[attr-defined]
    }
    template = f"{FOLDER}source.html" + ("#standing" if request.htmx else "")
    status = 422 if form.errors else 200
    return render_page(request, template, context, frame=frame_of(request), status=status)


@admins_only
@require_POST
def refresh(request: PageRequest, slug: str) -> HttpResponse:
    """Have it read now, and go back to where one was."""
    found = get_object_or_404(Source, slug=slug)
    try:
        request_refresh(by=request.user, source=found)
    except NotRefreshableError as refused:
        messages.error(request, str(refused))
    return redirect("sources" if "list" in request.POST else "source", *_place(request, slug))


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def remove(request: PageRequest, slug: str) -> HttpResponse:
    """Asks once, saying what is lost; then it is gone with all that it offers."""
    details = source_details(slug=slug)
    if details is None or not details.source.is_added:
        raise Http404
    if request.method == "POST":
        remove_source(by=request.user, source=details.source)
        messages.success(request, f"{details.source.title} is removed.")
        return redirect("sources")
    context = {"details": details, "source": details.source}
    return render_page(request, f"{FOLDER}remove.html", context, frame=frame_of(request))


def _place(request: PageRequest, slug: str) -> tuple[str, ...]:
    return () if "list" in request.POST else (slug,)

"""Base of the admin pages: access check and navigation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse, HttpResponseBase, QueryDict

from acl.pages.frame import PageRequest, frame_of, render_page

SAVED = "access_saved"
UNDO = "access_undo"


@dataclass(frozen=True, slots=True)
class Tab:
    """A tab of the admin pages."""

    name: str
    url_name: str
    label: str


TABS = (
    Tab("matrix", "access", "Matrix"),
    Tab("groups", "access-groups", "Groups"),
    Tab("explain", "access-explain", "Explain"),
    Tab("requests", "access-requests", "Requests"),
)


def admins_only(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """For others the page does not exist; who is not signed in is asked to."""

    @login_required
    @wraps(view)
    def for_admins(request: PageRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_staff:
            raise Http404
        return view(request, *args, **kwargs)

    return for_admins


def render_access(
    request: PageRequest,
    template: str,
    context: Mapping[str, object],
    *,
    tab: str,
    status: int = 200,
) -> HttpResponse:
    """A page of Access, or the part of it that htmx asked for by `#partial`."""
    # A part is not where somebody reads that their change has been saved.
    saved = None if request.htmx else request.session.pop(SAVED, None)
    whole = {**context, "tabs": TABS, "tab": tab, "saved": saved}
    page = f"access/{template}"
    return render_page(request, page, whole, frame=frame_of(request), status=status)


def part_of(request: PageRequest, template: str, part: str) -> str:
    """The template's name for htmx, which swaps only a part, or for the whole page."""
    return f"{template}#{part}" if request.htmx else template


def posted(request: PageRequest) -> QueryDict | None:
    """Return the submitted data, or None on GET. Submitted data may be empty."""
    return request.POST if request.method == "POST" else None

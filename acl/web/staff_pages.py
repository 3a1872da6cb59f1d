"""Base of the admin pages: access check and navigation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse, HttpResponseBase, QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from acl.web.frame import PageRequest, frame_of, render_page

SAVED = "access_saved"
UNDO = "access_undo"


@dataclass(frozen=True, slots=True)
class Tab:
    """A tab of the admin pages."""

    name: str
    url_name: str
    label: str | Promise


TABS = (
    Tab("matrix", "access", _("Matrix")),
    Tab("groups", "access-groups", _("Groups")),
    Tab("explain", "access-explain", _("Explain")),
    Tab("requests", "access-requests", _("Requests")),
    Tab("notifications", "access-notifications", _("Notifications")),
    Tab("risk", "access-risk", _("Risk")),
)


def admins_only(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Answer 404 to people who are not admins, and ask strangers to sign in."""

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
    """Render a page of Access, or the part of it that htmx requested with `#partial`."""
    # A part has no place for the message that a change was saved: keep it for the page.
    saved = None if request.htmx else request.session.pop(SAVED, None)
    whole = {**context, "tabs": TABS, "tab": tab, "saved": saved}
    page = f"access/{template}"
    return render_page(request, page, whole, frame=frame_of(request), status=status)


def part_of(request: PageRequest, template: str, part: str) -> str:
    """Return the template's name: a part of it for htmx, else the whole page."""
    return f"{template}#{part}" if request.htmx else template


def posted(request: PageRequest) -> QueryDict | None:
    """Return the submitted data, or None on GET. Submitted data may be empty."""
    return request.POST if request.method == "POST" else None

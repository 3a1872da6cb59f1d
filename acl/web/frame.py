"""Frame of every page: navigation, current group, and the base of the admin pages."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, wraps
from types import MappingProxyType
from typing import Any, TypeVar

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import Group, User
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django_htmx.middleware import HtmxDetails

from acl.models import ApiKey
from acl.rights.caller_lookup import Caller

# The frame of every page: navigation, and the person's current group.

# Content policy of every page: scripts and styles come from our own address.

POLICY_HEADER = "Content-Security-Policy"
# The admin pages' package writes its colours into a style element. No script stands in a page
# itself, and none is made from text: `static/unfold/` has Alpine's build without.
_OF_ADMIN_PAGES = {"style-src": "'self' 'unsafe-inline'"}


def page_policy(changes: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the policy of our pages, with other sources for the directives in `changes`."""
    directives = {**settings.CONTENT_SECURITY_POLICY, **changes}
    return "; ".join(f"{name} {sources}" for name, sources in directives.items())


class PolicyMiddleware:
    """Sets the policy of each answer that has none of its own."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response
        self._policy, self._admin_policy = page_policy(), page_policy(_OF_ADMIN_PAGES)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        if response.status_code in {404, 500} and settings.DEBUG:
            return response  # Django's page for developers has styles in it
        is_admin = request.path_info.startswith(self._admin)
        response.headers.setdefault(POLICY_HEADER, self._admin_policy if is_admin else self._policy)
        return response

    @cached_property
    def _admin(self) -> str:
        return reverse("admin:index")


# Extension points: what other apps add to these pages, registered when the apps are loaded.
# This app imports none of those above it, and its pages show places, counts and lists of theirs.

Counts = Callable[[User], Mapping[str, int]]
Context = Callable[[User], Mapping[str, Any]]
KeyExample = Callable[[HttpRequest, ApiKey, str, User], str]


@dataclass(frozen=True, slots=True)
class NavigationPlace:
    """An entry of the rail."""

    url_name: str
    label: str | Promise
    icon: str
    order: int
    covers: bool = True  # pages below its address, too
    key: str = ""  # goes there after "g"
    for_staff: bool = False

    @property
    def section(self) -> str:
        """Return the group of the rail that it stands in, by its order: a hundred for each."""
        return ("use", "govern", "operate")[self.order // 100]


@dataclass(slots=True)
class Extensions:
    """Registry of extensions; `extensions` is its only instance."""

    places: tuple[NavigationPlace, ...] = ()
    count_waiting: Counts = lambda _user: {}
    account_context: Context = lambda _user: {}
    key_example: KeyExample = lambda _request, _key, _raw, _user: ""
    word: Callable[[str], str] = lambda text: text  # a stored text, without the secrets in it

    def add_places(self, *places: NavigationPlace) -> None:
        """Add entries to the rail."""
        self.places = tuple(sorted({*self.places, *places}, key=lambda place: place.order))

    def places_for(self, *, staff: bool) -> tuple[NavigationPlace, ...]:
        """Return the entries of the rail for staff, or for everyone else."""
        return tuple(place for place in self.places if staff or not place.for_staff)


extensions = Extensions()


SESSION_GROUP = "group"


class PageRequest(HttpRequest):
    """Request of a signed-in person, after our middleware."""

    user: User
    htmx: HtmxDetails


@dataclass(frozen=True, slots=True)
class Frame:
    """Navigation for the viewer: their groups, the chosen one, and the places they may go to."""

    user_id: int
    groups: tuple[Group, ...]
    group: Group | None
    places: tuple[NavigationPlace, ...] = ()
    waiting: Mapping[str, int] = field(default_factory=dict)

    @property
    def caller(self) -> Caller | None:
        """The caller of the page; None if the person is in no group."""
        return Caller(self.user_id, self.group.pk) if self.group else None

    @property
    def everywhere(self) -> Caller | None:
        """The person in all their groups together, for what is theirs and no group's."""
        groups = [group.pk for group in self.groups]
        return Caller(self.user_id, groups[0], None, tuple(groups[1:])) if groups else None


def frame_of(request: PageRequest) -> Frame:
    """Return the frame, by one statement, and one more for admins.

    A group that the person has left is no longer the chosen one.
    """
    groups = tuple(request.user.groups.order_by("name", "pk"))
    chosen = request.session.get(SESSION_GROUP)
    group = next((group for group in groups if group.name == chosen), groups[0] if groups else None)
    places = extensions.places_for(staff=request.user.is_staff)
    waiting = extensions.count_waiting(request.user) if request.user.is_staff else {}
    return Frame(request.user.pk, groups, group, places, waiting)


def render_page(
    request: PageRequest,
    template: str,
    context: Mapping[str, object],
    *,
    frame: Frame,
    status: int = 200,
) -> HttpResponse:
    """Render the page, or a part of it where the template's name ends in `#partial`."""
    whole = {**context, "frame": frame}
    response = render(request, template, whole, status=status)
    # A part and its page have the same address: no cache may give one for the other.
    patch_vary_headers(response, ["HX-Request"])
    patch_cache_control(response, private=True, no_cache=True)
    return response


# A badge that nearly all rows bear tells none apart: pages say it once above the list instead.
Value = TypeVar("Value", bound=Hashable)
_NEARLY_ALL = 0.7


def usual_value(values: Iterable[Value]) -> Value | None:
    """Return the value that nearly all rows of a list share, or None."""
    counted = Counter(values)
    if not counted:
        return None
    ((value, number),) = counted.most_common(1)
    return value if number >= _NEARLY_ALL * counted.total() else None


# Base of the admin pages: access check and navigation.

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

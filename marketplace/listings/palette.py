"""Search for pages, tools and listings: as a page, and in the command palette."""

from dataclasses import dataclass

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from acl.pages.frame import Frame, PageRequest, frame_of, render_page
from acl.templatetags.pegboard import category_icon
from marketplace.listings.listing_pages import viewer_of
from marketplace.listings.name_search import find_listings, find_tools
from marketplace.listings.viewer import Viewer


@dataclass(frozen=True, slots=True)
class Result:
    """A search result with its address. `name` distinguishes results with equal labels."""

    label: str
    icon: str
    address: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """Results of one type, with the address of the full list."""

    name: str
    label: str
    results: tuple[Result, ...]
    more: str = ""


# Pages that are not in the navigation rail, with keywords to find them by.
MORE_PAGES = (
    ("my-secrets", "Your connections", "key-round", "secrets accounts sign in"),
    ("requests", "Ask for access", "send", "requests wish"),
    ("account", "Your account", "circle-user", "password codes e-mail"),
)
MORE_ADMIN_PAGES = (
    ("access-groups", "Groups", "users", "access teams"),
    ("access-explain", "Explain a right", "info", "access why"),
    ("access-requests", "Requests for access", "messages-square", "answer wishes"),
    ("invite", "Invite somebody", "user-plus", "people"),
    ("key-new", "Create a key", "key-round", "api backend"),
    ("sources", "Sources", "link", "marketplace registry"),
    ("source-add", "Add a source", "link", "marketplace registry"),
    ("proposals", "Proposed servers", "plug", "marketplace"),
)


class FindForm(forms.Form):
    """The search words. Invalid input counts as no words."""

    q = forms.CharField(required=False, max_length=200)

    def words(self) -> str:
        """Return the stripped search words."""
        self.full_clean()
        return str(self.cleaned_data.get("q", ""))


@login_required
@require_GET
def find(request: PageRequest) -> HttpResponse:
    """Show results for the words; without words, list the pages."""
    frame = frame_of(request)
    words = FindForm(request.GET).words()
    sections = [
        Section("pages", "Pages", _pages(frame, request.user.is_staff, words)),
        *_find_tools_and_listings(viewer_of(request, frame), words),
    ]
    context = {"words": words, "sections": [section for section in sections if section.results]}
    template = "listings/find.html" + ("#found" if request.htmx else "")
    return render_page(request, template, context, frame=frame)


def _pages(frame: Frame, is_admin: bool, words: str) -> tuple[Result, ...]:
    """Return the pages whose label and keywords contain all the words."""
    places = [(place.url_name, place.label, place.icon, "") for place in frame.places]
    rows = [*places, *MORE_PAGES, *(MORE_ADMIN_PAGES if is_admin else ())]
    return tuple(
        Result(label, icon, reverse(url_name))
        for url_name, label, icon, more in rows
        if all(word in f"{label} {more}".lower() for word in words.lower().split())
    )


def _find_tools_and_listings(viewer: Viewer, words: str) -> tuple[Section, Section]:
    tools = tuple(
        Result(
            tool.display_name,
            category_icon(tool.category, tool.kind),
            reverse("tool", args=[tool.full_name]),
            tool.full_name,
        )
        for tool in find_tools(viewer=viewer, words=words)
    )
    listings = tuple(
        Result(
            listing.title,
            category_icon(listing.category, listing.kind),
            reverse("listing", args=[listing.slug]),
            listing.publisher,
        )
        for listing in find_listings(viewer=viewer, words=words)
    )
    query = urlencode({"q": words})
    return (
        Section("tools", "My tools", tools, f"{reverse('my-tools')}?{query}"),
        Section("listings", "Marketplace", listings, f"{reverse('marketplace')}?{query}"),
    )

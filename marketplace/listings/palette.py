"""Finding pages, tools and listings from everywhere: as a page, and in the palette above others."""

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
class Thing:
    """Something to go to; `name` tells apart what is called alike."""

    label: str
    icon: str
    address: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """Things of one sort, and where there are more of them."""

    name: str
    label: str
    things: tuple[Thing, ...]
    more: str = ""


# Pages below those of the rail, with words that they are looked for by.
FURTHER = (
    ("my-secrets", "Your connections", "key-round", "secrets accounts sign in"),
    ("requests", "Ask for access", "send", "requests wish"),
    ("account", "Your account", "circle-user", "password codes e-mail"),
)
FURTHER_OF_ADMINS = (
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
    """What is looked for. What cannot be looked for counts as nothing."""

    q = forms.CharField(required=False, max_length=200)

    def words(self) -> str:
        """The words as they were typed, without what surrounds them."""
        self.full_clean()
        return str(self.cleaned_data.get("q", ""))


@login_required
@require_GET
def find(request: PageRequest) -> HttpResponse:
    """What fits the words; without words, where one can go."""
    frame = frame_of(request)
    words = FindForm(request.GET).words()
    sections = [
        Section("pages", "Pages", _pages(frame, request.user.is_staff, words)),
        *_found(viewer_of(request, frame), words),
    ]
    context = {"words": words, "sections": [section for section in sections if section.things]}
    template = "listings/find.html" + ("#found" if request.htmx else "")
    return render_page(request, template, context, frame=frame)


def _pages(frame: Frame, is_admin: bool, words: str) -> tuple[Thing, ...]:
    """The pages that the person may open and whose names have all the words."""
    places = [(place.url_name, place.label, place.icon, "") for place in frame.places]
    rows = [*places, *FURTHER, *(FURTHER_OF_ADMINS if is_admin else ())]
    return tuple(
        Thing(label, icon, reverse(url_name))
        for url_name, label, icon, more in rows
        if all(word in f"{label} {more}".lower() for word in words.lower().split())
    )


def _found(viewer: Viewer, words: str) -> tuple[Section, Section]:
    tools = tuple(
        Thing(
            tool.display_name,
            category_icon(tool.category, tool.kind),
            reverse("tool", args=[tool.full_name]),
            tool.full_name,
        )
        for tool in find_tools(viewer=viewer, words=words)
    )
    listings = tuple(
        Thing(
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

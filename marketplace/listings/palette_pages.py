"""Search for pages, tools and listings: as a page, and in the command palette."""

from collections.abc import Sequence
from dataclasses import dataclass

from django import forms
from django.contrib.auth.decorators import login_required
from django.db.models import Case, IntegerField, QuerySet, Value, When
from django.http import HttpResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET

from acl.templatetags.pegboard import category_icon
from acl.web.frame import Frame, PageRequest, frame_of, render_page
from catalog.models import Capability
from marketplace.listings.pages import viewer_of
from marketplace.listings.viewer import Viewer, visible_listings
from marketplace.models import Listing

MOST = 6  # of each; nobody reads more while typing
_MOST_WORDS = 8


@dataclass(frozen=True, slots=True)
class Result:
    """A search result with its address. `name` distinguishes results with equal labels."""

    label: str
    icon: str
    address: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class PaletteSection:
    """Results of one type, with the address of the full list."""

    name: str
    label: str
    results: tuple[Result, ...]
    more: str = ""


# Pages that are not in the navigation rail, with keywords to find them by.
MORE_PAGES = (
    ("my-secrets", gettext_lazy("Your connections"), "key-round", "secrets accounts sign in"),
    ("requests", gettext_lazy("Ask for access"), "send", "requests wish"),
    ("runtime-tools", gettext_lazy("Tools made at runtime"), "sparkles", "skills voice expired"),
    ("account", gettext_lazy("Your account"), "circle-user", "password codes e-mail"),
)
MORE_ADMIN_PAGES = (
    ("access-groups", gettext_lazy("Groups"), "users", "access teams"),
    ("access-explain", gettext_lazy("Explain a right"), "info", "access why"),
    ("access-requests", gettext_lazy("Requests for access"), "messages-square", "answer wishes"),
    ("invite", gettext_lazy("Invite someone"), "user-plus", "people"),
    ("key-new", gettext_lazy("Create a key"), "key-round", "api backend"),
    ("sources", gettext_lazy("Sources"), "link", "marketplace registry"),
    ("source-add", gettext_lazy("Add a source"), "link", "marketplace registry"),
    ("proposals", gettext_lazy("Proposed servers"), "plug", "marketplace"),
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
    pages = PaletteSection("pages", _("Pages"), _pages(frame, request.user.is_staff, words))
    others = _find_tools_and_listings(viewer_of(request, frame), words)
    # A page that only a keyword finds is less likely meant than a tool of that name.
    is_named = any(_mentions(page.label, words) for page in pages.results)
    sections = (pages, *others) if is_named else (*others, pages)
    context = {"words": words, "sections": [section for section in sections if section.results]}
    template = "listings/find.html" + ("#found" if request.htmx else "")
    return render_page(request, template, context, frame=frame)


def _pages(frame: Frame, is_admin: bool, words: str) -> tuple[Result, ...]:
    """Return the pages whose label and keywords contain all the words."""
    places = [(place.url_name, place.label, place.icon, "") for place in frame.places]
    rows = [*places, *MORE_PAGES, *(MORE_ADMIN_PAGES if is_admin else ())]
    return tuple(
        Result(str(label), icon, reverse(url_name))
        for url_name, label, icon, more in rows
        if _mentions(f"{label} {more}", words)
    )


def _mentions(text: str, words: str) -> bool:
    return all(word in text.lower() for word in words.lower().split())


def _find_tools_and_listings(viewer: Viewer, words: str) -> tuple[PaletteSection, PaletteSection]:
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
        PaletteSection("tools", _("My tools"), tools, f"{reverse('my-tools')}?{query}"),
        PaletteSection("listings", _("Marketplace"), listings, f"{reverse('marketplace')}?{query}"),
    )


def find_tools(*, viewer: Viewer, words: str) -> Sequence[Capability]:
    """Return usable tools that mention all the words; matches in names come first."""
    if not words or viewer.caller is None:
        return []
    usable = Capability.objects.usable_by(viewer.caller, unavailable=True).mentioning(words)
    rows = usable.only("pk", "full_name", "display_name", "category", "kind")
    first = words.split()[0]
    by_name = Case(
        When(display_name__istartswith=first, then=Value(0)),
        When(display_name__icontains=first, then=Value(1)),
        When(full_name__icontains=first, then=Value(2)),
        default=Value(3),
        output_field=IntegerField(),
    )
    return list(rows.order_by(by_name, "display_name", "pk")[:MOST])


def find_listings(*, viewer: Viewer, words: str) -> Sequence[Listing]:
    """Return visible listings whose titles contain all the words."""
    if not words:
        return []
    rows: QuerySet[Listing] = visible_listings(viewer)
    for word in words.split()[:_MOST_WORDS]:
        rows = rows.filter(title__icontains=word)
    listings = rows.only("pk", "slug", "title", "category", "kind", "publisher")
    return list(listings.order_by("title", "pk")[:MOST])

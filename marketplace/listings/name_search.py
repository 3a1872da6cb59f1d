"""Search for tools and listings by name while the viewer types, limited to what they may see."""

from collections.abc import Sequence

from django.db.models import Case, IntegerField, QuerySet, Value, When

from catalog.models import Capability
from marketplace.listings.viewer import Viewer, visible_listings
from marketplace.models import Listing

MOST = 6  # of each; nobody reads more while typing
_MOST_WORDS = 8


def find_tools(*, viewer: Viewer, words: str) -> Sequence[Capability]:
    """Return usable tools that mention all the words; matches in names come first."""
    if not words or viewer.caller is None:
        return []
    usable = Capability.objects.usable_by(viewer.caller, unavailable=True).mentioning(words)
    shown = usable.only("pk", "full_name", "display_name", "category", "kind")
    first = words.split()[0]
    by_name = Case(
        When(display_name__istartswith=first, then=Value(0)),
        When(display_name__icontains=first, then=Value(1)),
        When(full_name__icontains=first, then=Value(2)),
        default=Value(3),
        output_field=IntegerField(),
    )
    return list(shown.order_by(by_name, "display_name", "pk")[:MOST])


def find_listings(*, viewer: Viewer, words: str) -> Sequence[Listing]:
    """Return visible listings whose titles contain all the words."""
    if not words:
        return []
    rows: QuerySet[Listing] = visible_listings(viewer)
    for word in words.split()[:_MOST_WORDS]:
        rows = rows.filter(title__icontains=word)
    shown = rows.only("pk", "slug", "title", "category", "kind", "publisher")
    return list(shown.order_by("title", "pk")[:MOST])

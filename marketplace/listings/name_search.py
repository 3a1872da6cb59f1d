"""Finding tools and listings by their names, as one types: each as far as the viewer may know."""

from collections.abc import Sequence

from django.db.models import Case, IntegerField, QuerySet, Value, When

from catalog.models import Capability
from marketplace.listings.viewer import Viewer, listings_for
from marketplace.models import Listing

MOST = 6  # of each, since more are not read while typing
_MOST_WORDS = 8


def find_tools(*, viewer: Viewer, words: str) -> Sequence[Capability]:
    """What the viewer may use and what mentions all the words, names before descriptions."""
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
    """What is on offer to the viewer under a title with all the words."""
    if not words:
        return []
    rows: QuerySet[Listing] = listings_for(viewer)
    for word in words.split()[:_MOST_WORDS]:
        rows = rows.filter(title__icontains=word)
    shown = rows.only("pk", "slug", "title", "category", "kind", "publisher")
    return list(shown.order_by("title", "pk")[:MOST])

"""Browsing: a page of what is on offer, with what it can be narrowed by; and one listing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.db.models import Count, Q, QuerySet

from catalog.models import Integration
from marketplace.filtering import INSTALLED, UPDATES, Counted, Facts, Filters, Wanted, filters_for
from marketplace.models import Listing, Source
from marketplace.retrieval import find_matches
from marketplace.viewing import Viewer, installed_for, listings_for, sources_for

# Long, and not shown on a card.
_NOT_ON_CARDS = ("readme", "details", "command", "endpoint")


@dataclass(frozen=True, slots=True)
class Card:
    """A listing, with what is installed of it as far as the viewer knows."""

    listing: Listing
    integration: Integration | None
    has_update: bool

    @property
    def tool_count(self) -> int:
        """How many tools it is known to bring."""
        return len(self.listing.tools)


@dataclass(frozen=True, slots=True)
class Shelf:
    """One page of what fits."""

    cards: tuple[Card, ...]
    filters: Filters
    page: int
    pages: int
    problem: str = ""  # why the search went by words only

    @property
    def count(self) -> int:
        """How many listings fit, on all pages."""
        return self.filters.count


@dataclass(frozen=True, slots=True)
class _Held:
    """What is installed, by listing, and which of it could be updated."""

    integrations: dict[str, Integration] = field(default_factory=dict)
    updates: frozenset[str] = frozenset()


def browse_listings(*, viewer: Viewer, wanted: Wanted) -> Shelf:
    """A page of the listings that fit. A fixed number of statements, however many there are."""
    sources = list(sources_for(viewer))
    held = _held(viewer)
    if wanted.words:
        return _searched(viewer, wanted, sources, held)
    filters = filters_for(_counted(viewer, sources, held), wanted, sources)
    page, pages = _page(wanted, filters.count)
    rows = _narrowed(listings_for(viewer), wanted, held).order_by("title", "pk")
    shown = rows.select_related("source").defer(*_NOT_ON_CARDS)[_slice(wanted, page)]
    return Shelf(_cards(shown, held), filters, page, pages)


def find_listing(*, viewer: Viewer, slug: str) -> Card | None:
    """One listing; None both where there is none and where the viewer may not see it."""
    rows = listings_for(viewer).filter(slug=slug).select_related("source")
    return next(iter(_cards(rows, _held(viewer, slug))), None)


def _searched(viewer: Viewer, wanted: Wanted, sources: Sequence[Source], held: _Held) -> Shelf:
    """The same among what fits the words, the best first."""
    keys = None if viewer.is_admin else [source.pk for source in sources]
    matches = find_matches(wanted.words, sources=keys)
    names = {source.pk: source.slug for source in sources}
    facts = {
        match.pk: Facts(
            match.kind,
            match.category,
            names.get(match.source or 0, ""),
            match.slug in held.integrations,
            match.slug in held.updates,
        )
        for match in matches.found
    }
    filters = filters_for([(one, 1) for one in facts.values()], wanted, sources)
    page, pages = _page(wanted, filters.count)
    fitting = [pk for pk, one in facts.items() if one.fit(wanted)]
    shown = fitting[_slice(wanted, page)]
    rows = Listing.objects.filter(pk__in=shown).select_related("source").defer(*_NOT_ON_CARDS)
    by_key = {row.pk: row for row in rows}
    cards = _cards((by_key[pk] for pk in shown if pk in by_key), held)
    return Shelf(cards, filters, page, pages, matches.problem)


def _held(viewer: Viewer, slug: str = "") -> _Held:
    installed = installed_for(viewer)
    if slug:
        installed = installed.filter(listing=slug)
    rows = {row.listing: row for row in installed.order_by("pk")}
    if not rows or not viewer.is_admin:
        return _Held(rows)
    offered = Listing.objects.filter(slug__in=rows).exclude(version="")
    latest = offered.values_list("slug", "version")
    return _Held(rows, frozenset(one for one, new in latest if rows[one].version != new))


def _counted(viewer: Viewer, sources: Sequence[Source], held: _Held) -> Counted:
    """All that is on offer, by what it is filtered by."""
    names = {source.pk: source.slug for source in sources}
    groups = listings_for(viewer).annotate(
        is_installed=Q(slug__in=list(held.integrations)), is_update=Q(slug__in=list(held.updates))
    )
    facts = groups.order_by().values_list("kind", "category", "source", "is_installed", "is_update")
    return [
        (Facts(kind, category, names.get(source, ""), installed, update), number)
        for kind, category, source, installed, update, number in facts.annotate(n=Count("pk"))
    ]


def _narrowed(rows: QuerySet[Listing], wanted: Wanted, held: _Held) -> QuerySet[Listing]:
    if wanted.kind:
        rows = rows.filter(kind=wanted.kind)
    if wanted.category:
        rows = rows.filter(category=wanted.category)
    if wanted.source:
        rows = rows.filter(source__slug=wanted.source)
    slugs = {INSTALLED: list(held.integrations), UPDATES: list(held.updates)}
    return rows.filter(slug__in=slugs[wanted.show]) if wanted.show in slugs else rows


def _page(wanted: Wanted, count: int) -> tuple[int, int]:
    pages = max(1, -(-count // wanted.size))
    return min(max(1, wanted.page), pages), pages


def _slice(wanted: Wanted, page: int) -> slice:
    start = (page - 1) * wanted.size if wanted.offset is None else wanted.offset
    return slice(start, start + wanted.size)


def _cards(rows: Iterable[Listing], held: _Held) -> tuple[Card, ...]:
    return tuple(
        Card(row, held.integrations.get(row.slug), row.slug in held.updates) for row in rows
    )

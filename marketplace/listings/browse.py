"""Browsing the marketplace: one page of visible listings with filter counts, or one listing."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db.models import F

from marketplace.listings.cards import count_listings, find_marked_offers, read_cards, read_page
from marketplace.listings.listing_filters import (
    HELD,
    INSTALLED,
    KNOWN,
    UPDATES,
    FacetCounts,
    Facets,
    Filters,
    ListingQuery,
    filters_for,
)
from marketplace.listings.listing_search import find_matches
from marketplace.listings.package_test import PackageTest, parse_findings, read_package_test
from marketplace.listings.viewer import (
    Viewer,
    visibility_parameters,
    visible_integrations,
    visible_listings,
    visible_sources,
)
from marketplace.models import Listing, Source


class InstalledListing(NamedTuple):
    """An installed listing. `slug` is the integration's, `listing` the listing's."""

    slug: str
    listing: str
    version: str
    enabled: bool


@dataclass(frozen=True, slots=True)
class Card:
    """A listing card, with its installation as far as the viewer may know of it."""

    listing: Listing
    integration: InstalledListing | None
    has_update: bool
    tool_count: int  # tools that the source declares
    test: PackageTest | None = None


@dataclass(frozen=True, slots=True)
class ListingPage:
    """A page of matching listings, with the filter counts of all pages."""

    cards: tuple[Card, ...]
    filters: Filters
    page: int
    pages: int
    problem: str = ""  # why the search used keywords only

    @property
    def count(self) -> int:
        """Number of matching listings on all pages."""
        return self.filters.count


@dataclass(frozen=True, slots=True)
class _Marked:
    """Listings that are installed or known to work, and their facets, by listing slug."""

    integrations: dict[str, InstalledListing] = field(default_factory=dict)
    facets: dict[str, Facets] = field(default_factory=dict)

    @property
    def updates(self) -> list[str]:
        """Slugs of installed listings with another version on offer."""
        return [slug for slug, facets in self.facets.items() if facets.has_update]

    @property
    def known(self) -> list[str]:
        """Slugs of listings whose package is known to work."""
        return [slug for slug, facets in self.facets.items() if facets.is_known]


def browse_listings(*, viewer: Viewer, wanted: ListingQuery) -> ListingPage:
    """Return a page of matching listings. The number of SQL statements is constant."""
    sources = list(visible_sources(viewer))
    offered = visibility_parameters(viewer, sources)
    marked = _read_marked(viewer, offered, sources)
    if wanted.words:
        return _search_page(viewer, wanted, sources, marked)
    filters = filters_for(_count_facets(offered, sources, marked), wanted, sources)
    page, pages = _page(wanted, filters.count)
    rows = read_page(
        offered,
        kind=wanted.kind,
        category=wanted.category,
        source=_source_key(wanted.source, sources),
        slugs=_shown_slugs(wanted.show, marked),
        held=wanted.show == HELD,
        part=_slice(wanted, page),
    )
    return ListingPage(_cards(rows, sources, marked), filters, page, pages)


def find_listing(*, viewer: Viewer, slug: str) -> Card | None:
    """Return one listing; None if it does not exist or the viewer may not see it."""
    rows = visible_listings(viewer).filter(slug=slug).annotate(picture=F("icon__image"))
    row = rows.select_related("source").first()
    if row is None:
        return None
    kept = _installed(viewer, slug).get(slug)
    has_update = _is_newer(viewer, row.version, kept)
    return Card(row, kept, has_update, len(row.tools), read_package_test(row.details))


def _search_page(
    viewer: Viewer, wanted: ListingQuery, sources: Sequence[Source], marked: _Marked
) -> ListingPage:
    """Return the page of listings that match the search words, best match first."""
    # None searches all listings, including those whose source was removed.
    keys = None if viewer.is_admin else [source.pk for source in sources]
    matches = find_matches(wanted.words, sources=keys)
    names = _source_slugs(sources)
    updates, known = set(marked.updates), set(marked.known)
    facets = {
        match.pk: Facets(
            match.kind,
            match.category,
            names.get(match.source or 0, ""),
            match.slug in marked.integrations,
            match.slug in updates,
            match.is_held,
            match.slug in known,
        )
        for match in matches.found
    }
    filters = filters_for([(one, 1) for one in facets.values()], wanted, sources)
    page, pages = _page(wanted, filters.count)
    fitting = [pk for pk, one in facets.items() if one.matches_query(wanted)]
    rows = read_cards(fitting[_slice(wanted, page)])
    return ListingPage(_cards(rows, sources, marked), filters, page, pages, matches.problem)


def _installed(viewer: Viewer, slug: str = "") -> dict[str, InstalledListing]:
    installed = visible_integrations(viewer)
    if slug:
        installed = installed.filter(listing=slug)
    rows = installed.order_by("pk").values_list("slug", "listing", "version", "enabled")
    return {kept.listing: kept for kept in (InstalledListing(*row) for row in rows)}


def _read_marked(viewer: Viewer, offered: Mapping[str, Any], sources: Iterable[Source]) -> _Marked:
    """Return listings that the viewer sees as installed, or as known to work."""
    integrations, names = _installed(viewer), _source_slugs(sources)
    tested = [one.pk for one in sources if one.kind in (Source.Kind.STARTER, Source.Kind.BY_HAND)]
    facets = {
        one.slug: Facets(
            one.kind,
            one.category,
            names.get(one.source or 0, ""),
            one.slug in integrations,
            _is_newer(viewer, one.version, integrations.get(one.slug)),
            one.is_held,
            one.is_known,
        )
        for one in find_marked_offers(offered, list(integrations), tested)
    }
    return _Marked(integrations, facets)


def _is_newer(viewer: Viewer, version: str, kept: InstalledListing | None) -> bool:
    """Return True if the viewer sees an update. Only admins see installed versions."""
    return kept is not None and viewer.is_admin and version not in ("", kept.version)


def _count_facets(
    offered: Mapping[str, Any], sources: Iterable[Source], marked: _Marked
) -> FacetCounts:
    """Count visible listings by facets. Marked ones are moved to groups of their own."""
    counts, names = Counter[Facets](), _source_slugs(sources)
    for group in count_listings(offered):
        source = names.get(group.source or 0, "")
        facets = Facets(group.kind, group.category, source, False, False, group.is_held)
        counts[facets] += group.number
    for facets in marked.facets.values():
        # SQL counted every listing as unmarked: take the marked ones out again.
        counts[facets._replace(installed=False, has_update=False, is_known=False)] -= 1
        counts[facets] += 1
    return [(facets, number) for facets, number in counts.items() if number > 0]


def _source_slugs(sources: Iterable[Source]) -> dict[int, str]:
    return {source.pk: source.slug for source in sources}


def _source_key(slug: str, sources: Iterable[Source]) -> int | None:
    """Return the source's primary key, 0 (matches nothing) if unknown, or None for no filter."""
    return next((one.pk for one in sources if one.slug == slug), 0) if slug else None


def _shown_slugs(show: str, marked: _Marked) -> list[str] | None:
    shown = {
        INSTALLED: list(marked.integrations),
        KNOWN: marked.known,
        UPDATES: marked.updates,
    }
    return shown.get(show)


def _page(wanted: ListingQuery, count: int) -> tuple[int, int]:
    pages = max(1, -(-count // wanted.size))
    return min(max(1, wanted.page), pages), pages


def _slice(wanted: ListingQuery, page: int) -> slice:
    start = (page - 1) * wanted.size if wanted.offset is None else wanted.offset
    return slice(start, start + wanted.size)


def _cards(rows: Iterable[Listing], sources: Iterable[Source], marked: _Marked) -> tuple[Card, ...]:
    by_key = {source.pk: source for source in sources}
    return tuple(_card(row, by_key.get(row.source_id or 0), marked) for row in rows)


def _card(row: Listing, source: Source | None, marked: _Marked) -> Card:
    row.source = source
    facets = marked.facets.get(row.slug)
    has_update = bool(facets and facets.has_update)
    return Card(
        row,
        marked.integrations.get(row.slug),
        has_update,
        getattr(row, "tool_count", 0),
        parse_findings(getattr(row, "test_findings", None)),
    )

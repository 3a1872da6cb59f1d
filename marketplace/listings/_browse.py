"""Browsing the marketplace: one page of visible listings with filter counts, or one listing."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import F

from marketplace.listings._filters import (
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
from marketplace.listings.search import find_matches
from marketplace.listings.viewer import (
    OFFERED,
    PASSED,
    Viewer,
    visibility_parameters,
    visible_integrations,
    visible_listings,
    visible_sources,
)
from marketplace.models import Listing, Source
from marketplace.offers.offer import (
    FINDINGS,
    PackageTest,
    parse_findings,
    read_package_test,
)

# SQL reads for marketplace pages: facet counts and the listings of one page.
# Raw SQL, because building these queries in the ORM takes longer than Postgres needs to run them.
# Every statement includes the viewer's visibility condition.


class ListingGroup(NamedTuple):
    """Number of listings with the same kind, category and source."""

    kind: str
    category: str
    source: int | None
    is_held: bool
    number: int


class MarkedOffer(NamedTuple):
    """Current offer of a listing, installed or known to work."""

    slug: str
    kind: str
    category: str
    source: int | None
    version: str
    is_held: bool
    is_known: bool


def count_listings(visibility: Mapping[str, Any]) -> list[ListingGroup]:
    """Count the visible listings by kind, category and source."""
    return [ListingGroup(*row) for row in _fetch_rows(_GROUPS, visibility)]


def find_marked_offers(
    visibility: Mapping[str, Any], slugs: Sequence[str], tested: Sequence[int]
) -> list[MarkedOffer]:
    """Return the current offers of the given listings, and of those that are known to work.

    `tested` are the sources of the latter. Only what is visible is returned.
    """
    parameters = {**visibility, "slugs": slugs, "tested": list(tested)}
    return [MarkedOffer(*row) for row in _fetch_rows(_MARKED_OFFERS, parameters)]


def read_page(
    visibility: Mapping[str, Any],
    *,
    kind: str,
    category: str,
    source: int | None,
    slugs: Sequence[str] | None,
    held: bool,
    part: slice,
) -> list[Listing]:
    """Return one page of listings by title, with `tool_count` and only the columns of a card."""
    narrowed: dict[str, Any] = {"kind": kind, "category": category, "source": source}
    narrowed |= {"slugs": slugs, "held": held}
    where = {"first": part.start, "most": part.stop - part.start}
    return list(Listing.objects.raw(_PAGE, {**visibility, **narrowed, **where}))


def read_cards(keys: Sequence[int]) -> list[Listing]:
    """Return cards in the order of `keys`. Callers must have checked visibility already."""
    rows = Listing.objects.raw(_CARDS, {"keys": list(keys)})
    by_key = {row.pk: row for row in rows}
    return [by_key[pk] for pk in keys if pk in by_key]


def _fetch_rows(statement: str, parameters: Mapping[str, Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())


_GROUPS = f"""
SELECT l.kind, l.category, l.source_id, NOT {PASSED}, count(*) FROM marketplace_listing l
WHERE {OFFERED} GROUP BY 1, 2, 3, 4
"""  # noqa: S608 - OFFERED and PASSED are constants of this project
_IS_KNOWN = f"(l.source_id = ANY(%(tested)s::bigint[]) AND l.details ? '{FINDINGS}')"
_MARKED_OFFERS = f"""
SELECT l.slug, l.kind, l.category, l.source_id, l.version, NOT {PASSED},
  coalesce({_IS_KNOWN}, false)
FROM marketplace_listing l
WHERE {OFFERED} AND (l.slug = ANY(%(slugs)s::text[]) OR {_IS_KNOWN})
"""  # noqa: S608
# Tool lists may be long, and a card shows only their number.
_ON_CARDS = f"""
SELECT l.id, l.slug, l.source_id, l.kind, l.title, l.description, l.publisher, l.licence, l.version,
  l.transport, l.required_secrets, l.category, l.review,
  CASE WHEN l.details ->> 'type' IN ('starter', 'added') THEN l.details -> '{FINDINGS}' END
    AS test_findings,
  CASE jsonb_typeof(l.tools) WHEN 'array' THEN jsonb_array_length(l.tools) ELSE 0 END AS tool_count,
  s.image_id AS picture
FROM marketplace_listing l LEFT JOIN catalog_iconsource s ON s.id = l.icon_id
"""  # noqa: S608
_CARDS = f"{_ON_CARDS} WHERE l.id = ANY(%(keys)s::bigint[])"
# The inner query reads only an index, so that skipping earlier pages stays cheap.
_PAGE = f"""
{_ON_CARDS} JOIN (
  SELECT l.id FROM marketplace_listing l
  WHERE {OFFERED} AND %(kind)s IN ('', l.kind) AND %(category)s IN ('', l.category)
    AND (%(source)s::bigint IS NULL OR l.source_id = %(source)s::bigint)
    AND (%(slugs)s::text[] IS NULL OR l.slug = ANY(%(slugs)s::text[]))
    AND (NOT %(held)s OR NOT {PASSED})
  ORDER BY l.title, l.id LIMIT %(most)s OFFSET %(first)s
) page ON page.id = l.id
ORDER BY l.title, l.id
"""  # noqa: S608


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


def browse_listings(*, viewer: Viewer, query: ListingQuery) -> ListingPage:
    """Return a page of matching listings. The number of SQL statements is constant."""
    sources = list(visible_sources(viewer))
    offered = visibility_parameters(viewer, sources)
    marked = _read_marked(viewer, offered, sources)
    if query.words:
        return _search_page(viewer, query, sources, marked)
    filters = filters_for(_count_facets(offered, sources, marked), query, sources)
    page, pages = _page(query, filters.count)
    slugs_by_filter = {
        INSTALLED: list(marked.integrations),
        KNOWN: marked.known,
        UPDATES: marked.updates,
    }
    # The source's primary key, 0 (matches nothing) if unknown, or None for no filter.
    rows = read_page(
        offered,
        kind=query.kind,
        category=query.category,
        source=next((source.pk for source in sources if source.slug == query.source), 0)
        if query.source
        else None,
        slugs=slugs_by_filter.get(query.show),
        held=query.show == HELD,
        part=_slice(query, page),
    )
    return ListingPage(_cards(rows, sources, marked), filters, page, pages)


def find_listing(*, viewer: Viewer, slug: str) -> Card | None:
    """Return one listing; None if it does not exist or the viewer may not see it."""
    rows = visible_listings(viewer).filter(slug=slug).annotate(picture=F("icon__image"))
    row = rows.select_related("source").first()
    if row is None:
        return None
    installed = _installed(viewer, slug).get(slug)
    has_update = _is_newer(viewer, row.version, installed)
    return Card(row, installed, has_update, len(row.tools), read_package_test(row.details))


def _search_page(
    viewer: Viewer, query: ListingQuery, sources: Sequence[Source], marked: _Marked
) -> ListingPage:
    """Return the page of listings that match the search words, best match first."""
    # None searches all listings, including those whose source was removed.
    keys = None if viewer.is_admin else [source.pk for source in sources]
    matches = find_matches(query.words, sources=keys)
    names = _source_slugs(sources)
    updates, known_slugs = set(marked.updates), set(marked.known)
    facets = {
        match.pk: Facets(
            match.kind,
            match.category,
            names.get(match.source or 0, ""),
            match.slug in marked.integrations,
            match.slug in updates,
            match.is_held,
            match.slug in known_slugs,
        )
        for match in matches.found
    }
    filters = filters_for([(facet_values, 1) for facet_values in facets.values()], query, sources)
    page, pages = _page(query, filters.count)
    fitting = [pk for pk, facet_values in facets.items() if facet_values.matches_query(query)]
    rows = read_cards(fitting[_slice(query, page)])
    return ListingPage(_cards(rows, sources, marked), filters, page, pages, matches.problem)


def _installed(viewer: Viewer, slug: str = "") -> dict[str, InstalledListing]:
    installed = visible_integrations(viewer)
    if slug:
        installed = installed.filter(listing=slug)
    rows = installed.order_by("pk").values_list("slug", "listing", "version", "enabled")
    return {listing.listing: listing for listing in (InstalledListing(*row) for row in rows)}


def _read_marked(viewer: Viewer, offered: Mapping[str, Any], sources: Iterable[Source]) -> _Marked:
    """Return listings that the viewer sees as installed, or as known to work."""
    integrations, names = _installed(viewer), _source_slugs(sources)
    tested = [
        source_or_offer.pk
        for source_or_offer in sources
        if source_or_offer.kind in (Source.STARTER, Source.BY_HAND)
    ]
    facets = {
        source_or_offer.slug: Facets(
            source_or_offer.kind,
            source_or_offer.category,
            names.get(source_or_offer.source or 0, ""),
            source_or_offer.slug in integrations,
            _is_newer(viewer, source_or_offer.version, integrations.get(source_or_offer.slug)),
            source_or_offer.is_held,
            source_or_offer.is_known,
        )
        for source_or_offer in find_marked_offers(offered, list(integrations), tested)
    }
    return _Marked(integrations, facets)


def _is_newer(viewer: Viewer, version: str, installed: InstalledListing | None) -> bool:
    """Return True if the viewer sees an update. Only admins see installed versions."""
    return installed is not None and viewer.is_admin and version not in ("", installed.version)


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


def _page(query: ListingQuery, count: int) -> tuple[int, int]:
    pages = max(1, -(-count // query.size))
    return min(max(1, query.page), pages), pages


def _slice(query: ListingQuery, page: int) -> slice:
    start = (page - 1) * query.size if query.offset is None else query.offset
    return slice(start, start + query.size)


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

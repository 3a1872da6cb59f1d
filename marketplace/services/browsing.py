"""Browsing: a page of what is on offer, with what it can be narrowed by; and one listing."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import Count, QuerySet

from catalog.models import Integration
from marketplace.filtering import INSTALLED, UPDATES, Counted, Facts, Filters, Wanted, filters_for
from marketplace.models import Listing, Source
from marketplace.retrieval import find_matches
from marketplace.viewing import Viewer, installed_for, listings_for, sources_for

# Long, and not shown on a card.
_KNOWN = ("slug", "title", "listing", "version", "enabled")  # of what is installed
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
    """What is installed, by listing, with what those listings are filtered by."""

    integrations: dict[str, Integration] = field(default_factory=dict)
    facts: dict[str, Facts] = field(default_factory=dict)

    @property
    def updates(self) -> list[str]:
        """Those that have another version by now."""
        return [slug for slug, facts in self.facts.items() if facts.has_update]


def browse_listings(*, viewer: Viewer, wanted: Wanted) -> Shelf:
    """A page of the listings that fit. A fixed number of statements, however many there are."""
    sources = list(sources_for(viewer))
    names = {source.pk: source.slug for source in sources}
    held = _held(viewer, names)
    if wanted.words:
        return _searched(viewer, wanted, sources, held)
    filters = filters_for(_counted(viewer, names, held), wanted, sources)
    page, pages = _page(wanted, filters.count)
    # Their keys are read from an index alone: rows that come before the page cost nothing.
    fitting = _narrowed(listings_for(viewer), wanted, held).order_by("title", "pk")
    keys = list(fitting.values_list("pk", flat=True)[_slice(wanted, page)])
    return Shelf(_cards(keys, held), filters, page, pages)


def find_listing(*, viewer: Viewer, slug: str) -> Card | None:
    """One listing; None both where there is none and where the viewer may not see it."""
    row = listings_for(viewer).filter(slug=slug).select_related("source").first()
    return _card(row, _held(viewer, {}, slug)) if row else None


def _searched(viewer: Viewer, wanted: Wanted, sources: Sequence[Source], held: _Held) -> Shelf:
    """The same among what fits the words, the best first."""
    keys = None if viewer.is_admin else [source.pk for source in sources]
    matches = find_matches(wanted.words, sources=keys)
    names = {source.pk: source.slug for source in sources}
    updates = set(held.updates)
    facts = {
        match.pk: Facts(
            match.kind,
            match.category,
            names.get(match.source or 0, ""),
            match.slug in held.integrations,
            match.slug in updates,
        )
        for match in matches.found
    }
    filters = filters_for([(one, 1) for one in facts.values()], wanted, sources)
    page, pages = _page(wanted, filters.count)
    fitting = [pk for pk, one in facts.items() if one.fit(wanted)]
    shown = fitting[_slice(wanted, page)]
    return Shelf(_cards(shown, held), filters, page, pages, matches.problem)


def _held(viewer: Viewer, names: Mapping[int, str], slug: str = "") -> _Held:
    """What the viewer may know of. Which version it has is for admins."""
    installed = installed_for(viewer)
    if slug:
        installed = installed.filter(listing=slug)
    rows = {row.listing: row for row in installed.only(*_KNOWN).order_by("pk")}
    offered = listings_for(viewer).filter(slug__in=rows)
    facts = {}
    for one, kind, category, source, version in offered.values_list(
        "slug", "kind", "category", "source", "version"
    ):
        newer = viewer.is_admin and version not in ("", rows[one].version)
        facts[one] = Facts(kind, category, names.get(source or 0, ""), True, newer)
    return _Held(rows, facts)


def _counted(viewer: Viewer, names: Mapping[int, str], held: _Held) -> Counted:
    """All that is on offer, by what it is filtered by; what is installed is counted for itself."""
    groups = listings_for(viewer).order_by().values_list("kind", "category", "source")
    counts: Counter[Facts] = Counter()
    for kind, category, source, number in groups.annotate(number=Count("pk")):
        counts[Facts(kind, category, names.get(source or 0, ""), False, False)] += number
    for facts in held.facts.values():
        counts[facts._replace(installed=False, has_update=False)] -= 1
        counts[facts] += 1
    return [(facts, number) for facts, number in counts.items() if number > 0]


def _narrowed(rows: QuerySet[Listing], wanted: Wanted, held: _Held) -> QuerySet[Listing]:
    if wanted.kind:
        rows = rows.filter(kind=wanted.kind)
    if wanted.category:
        rows = rows.filter(category=wanted.category)
    if wanted.source:
        rows = rows.filter(source__slug=wanted.source)
    slugs = {INSTALLED: list(held.integrations), UPDATES: held.updates}
    return rows.filter(slug__in=slugs[wanted.show]) if wanted.show in slugs else rows


def _page(wanted: Wanted, count: int) -> tuple[int, int]:
    pages = max(1, -(-count // wanted.size))
    return min(max(1, wanted.page), pages), pages


def _slice(wanted: Wanted, page: int) -> slice:
    start = (page - 1) * wanted.size if wanted.offset is None else wanted.offset
    return slice(start, start + wanted.size)


def _cards(keys: Sequence[int], held: _Held) -> tuple[Card, ...]:
    rows = Listing.objects.filter(pk__in=keys).select_related("source").defer(*_NOT_ON_CARDS)
    by_key = {row.pk: row for row in rows}
    return tuple(_card(by_key[pk], held) for pk in keys if pk in by_key)


def _card(row: Listing, held: _Held) -> Card:
    facts = held.facts.get(row.slug)
    return Card(row, held.integrations.get(row.slug), bool(facts and facts.has_update))

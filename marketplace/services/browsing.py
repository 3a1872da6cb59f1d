"""Browsing: a page of what is on offer, with what it can be narrowed by; and one listing."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from marketplace.filtering import (
    HELD,
    INSTALLED,
    UPDATES,
    Counted,
    Facts,
    Filters,
    Wanted,
    filters_for,
)
from marketplace.models import Listing, Source
from marketplace.retrieval import find_matches
from marketplace.shelves import cards_of, known, page_of, piles
from marketplace.viewing import Viewer, installed_for, listings_for, offered_to, sources_for


class Kept(NamedTuple):
    """What is installed of a listing."""

    slug: str
    listing: str
    version: str
    enabled: bool


@dataclass(frozen=True, slots=True)
class Card:
    """A listing, with what is installed of it as far as the viewer knows."""

    listing: Listing
    integration: Kept | None
    has_update: bool
    tool_count: int  # that it is known to bring


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

    integrations: dict[str, Kept] = field(default_factory=dict)
    facts: dict[str, Facts] = field(default_factory=dict)

    @property
    def updates(self) -> list[str]:
        """Those that have another version by now."""
        return [slug for slug, facts in self.facts.items() if facts.has_update]


def browse_listings(*, viewer: Viewer, wanted: Wanted) -> Shelf:
    """A page of the listings that fit. A fixed number of statements, however many there are."""
    sources = list(sources_for(viewer))
    offered = offered_to(viewer, sources)
    held = _held(viewer, offered, sources)
    if wanted.words:
        return _searched(viewer, wanted, sources, held)
    filters = filters_for(_counted(offered, sources, held), wanted, sources)
    page, pages = _page(wanted, filters.count)
    rows = page_of(
        offered,
        kind=wanted.kind,
        category=wanted.category,
        source=_key_of(wanted.source, sources),
        slugs=_slugs_of(wanted.show, held),
        held=wanted.show == HELD,
        part=_slice(wanted, page),
    )
    return Shelf(_cards(rows, sources, held), filters, page, pages)


def find_listing(*, viewer: Viewer, slug: str) -> Card | None:
    """One listing; None both where there is none and where the viewer may not see it."""
    row = listings_for(viewer).filter(slug=slug).select_related("source").first()
    if row is None:
        return None
    kept = _installed(viewer, slug).get(slug)
    has_update = kept is not None and _is_newer(viewer, row.version, kept)
    return Card(row, kept, has_update, len(row.tools))


def _searched(viewer: Viewer, wanted: Wanted, sources: Sequence[Source], held: _Held) -> Shelf:
    """The same among what fits the words, the best first."""
    keys = None if viewer.is_admin else [source.pk for source in sources]
    matches = find_matches(wanted.words, sources=keys)
    names = _names(sources)
    updates = set(held.updates)
    facts = {
        match.pk: Facts(
            match.kind,
            match.category,
            names.get(match.source or 0, ""),
            match.slug in held.integrations,
            match.slug in updates,
            match.is_held,
        )
        for match in matches.found
    }
    filters = filters_for([(one, 1) for one in facts.values()], wanted, sources)
    page, pages = _page(wanted, filters.count)
    fitting = [pk for pk, one in facts.items() if one.fit(wanted)]
    rows = cards_of(fitting[_slice(wanted, page)])
    return Shelf(_cards(rows, sources, held), filters, page, pages, matches.problem)


def _installed(viewer: Viewer, slug: str = "") -> dict[str, Kept]:
    installed = installed_for(viewer)
    if slug:
        installed = installed.filter(listing=slug)
    rows = installed.order_by("pk").values_list("slug", "listing", "version", "enabled")
    return {kept.listing: kept for kept in (Kept(*row) for row in rows)}


def _held(viewer: Viewer, offered: Mapping[str, Any], sources: Iterable[Source]) -> _Held:
    """What the viewer may know of."""
    integrations, names = _installed(viewer), _names(sources)
    facts = {
        one.slug: Facts(
            one.kind,
            one.category,
            names.get(one.source or 0, ""),
            True,
            _is_newer(viewer, one.version, integrations[one.slug]),
            one.is_held,
        )
        for one in known(offered, list(integrations))
    }
    return _Held(integrations, facts)


def _is_newer(viewer: Viewer, version: str, kept: Kept) -> bool:
    """Whether there is an update. Which version is installed is for admins."""
    return viewer.is_admin and version not in ("", kept.version)


def _counted(offered: Mapping[str, Any], sources: Iterable[Source], held: _Held) -> Counted:
    """All that is on offer, by what it is filtered by; what is installed is counted for itself."""
    counts, names = Counter[Facts](), _names(sources)
    for pile in piles(offered):
        source = names.get(pile.source or 0, "")
        facts = Facts(pile.kind, pile.category, source, False, False, pile.is_held)
        counts[facts] += pile.number
    for facts in held.facts.values():
        counts[facts._replace(installed=False, has_update=False)] -= 1
        counts[facts] += 1
    return [(facts, number) for facts, number in counts.items() if number > 0]


def _names(sources: Iterable[Source]) -> dict[int, str]:
    return {source.pk: source.slug for source in sources}


def _key_of(slug: str, sources: Iterable[Source]) -> int | None:
    """The source's key; 0, which none has, where there is none of that name to be seen."""
    return next((one.pk for one in sources if one.slug == slug), 0) if slug else None


def _slugs_of(show: str, held: _Held) -> list[str] | None:
    return {INSTALLED: list(held.integrations), UPDATES: held.updates}.get(show)


def _page(wanted: Wanted, count: int) -> tuple[int, int]:
    pages = max(1, -(-count // wanted.size))
    return min(max(1, wanted.page), pages), pages


def _slice(wanted: Wanted, page: int) -> slice:
    start = (page - 1) * wanted.size if wanted.offset is None else wanted.offset
    return slice(start, start + wanted.size)


def _cards(rows: Iterable[Listing], sources: Iterable[Source], held: _Held) -> tuple[Card, ...]:
    by_key = {source.pk: source for source in sources}
    return tuple(_card(row, by_key.get(row.source_id or 0), held) for row in rows)


def _card(row: Listing, source: Source | None, held: _Held) -> Card:
    row.source = source
    facts = held.facts.get(row.slug)
    has_update = bool(facts and facts.has_update)
    return Card(row, held.integrations.get(row.slug), has_update, getattr(row, "tool_count", 0))
